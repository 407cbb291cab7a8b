// Creates the errors of the framing, and implements record_format.h.
#include "dataset/record/record_framing.h"

#include <algorithm>
#include <utility>

#include "dataset/base/damage_hint.h"
#include "dataset/record/other_format.h"

namespace recordpipe {
namespace {

bool starts_with_any_case(std::string_view text, std::string_view lower) {
  return std::ranges::equal(text.substr(0, lower.size()), lower, {}, [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  });
}

// Returns the error's reason: the CRC that is stored for the part `what` is not the masked form of
// the part's `crc`.
std::string unfit(const std::string& what, uint32_t stored, uint32_t crc) {
  return what + (stored == crc ? " CRC is not masked" : " CRC mismatch") + ": corrupted record";
}

struct Hint {
  std::string text;
  Remedy remedy = Remedy::none;
};

// Returns the hint for an error: `stored` was found in place of the masked form of `crc`.
Hint hint_for_crc(uint32_t stored, uint32_t crc) {
  if (stored != 0 && stored != crc) return {kDamagedFileHint, Remedy::salvage};
  return {std::string(kDamagedFileHint) + kCheckOff, Remedy::crc_check_off};
}

// Returns the hint for a file that may not be a TFRecord file, from its first bytes, which were
// compressed with `outer`.
Hint hint_for_start(std::span<const std::byte> start, Compression outer) {
  const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
  const size_t blank = text.find_first_not_of(" \t\r\n");
  const std::string_view trimmed = text.substr(std::min(blank, text.size()));
  if (starts_with_any_case(trimmed, "<!doctype") || starts_with_any_case(trimmed, "<html")) {
    return {"this is an HTML page, probably a server's error message: download the file again"};
  }
  switch (sniff_compression(start)) {
    case Compression::zlib:
      return {"this file looks compressed with zlib: read it with compression zlib",
              Remedy::compression_zlib};
    case Compression::gzip:
    case Compression::zstd:
    case Compression::bzip2:
    case Compression::xz:
    case Compression::lz4:
    case Compression::snappy:
      return {"this file is compressed with " + std::string(to_string(sniff_compression(start))) +
                  ": " + kDetect,
              Remedy::detect_compression};
    case Compression::none:
      break;
  }
  if (outer == Compression::none) return {kNoRecordsHint};
  // Decompressed bytes come before their checksum.
  return {std::string(kNoRecordsHint) + ", or its " + std::string(to_string(outer)) +
          " stream is damaged: compare it with its source"};
}

// Names the format of a file whose first header is wrong, if it is another one that is known.
Error with_format(const Error& error, std::span<const std::byte> start) {
  std::string hint = hint_for_other_format(start);
  if (hint.empty()) return error;
  Error::Parts parts = error.parts();
  parts.hint = std::move(hint);
  parts.remedy = Remedy::none;
  return Error(std::move(parts));
}

// "the file ends inside the header: truncated record at N"
Error truncated_record(const std::string& path, uint64_t offset, std::string_view where) {
  return Error({.kind = ErrorKind::truncated,
                .path = path,
                .offset = offset,
                .reason = "the file ends inside the " + std::string(where) + ": truncated record",
                .hint = "the file is incomplete: fetch it again",
                .remedy = Remedy::salvage});
}

Error corrupted_length(const std::string& path, uint64_t offset,
                       std::span<const std::byte> following, Compression compression) {
  const auto header = following.first(std::min(following.size(), kRecordHeaderSize));
  const auto stored = load_little_endian<uint32_t>(header.data() + 8);
  const uint32_t crc = crc32c(header.first(8));
  Hint hint = hint_for_crc(stored, crc);
  if (std::ranges::all_of(header, [](std::byte byte) { return byte == std::byte{0}; })) {
    hint = {"zeros where a record should start: the file was probably not written to its end",
            offset > 0 ? Remedy::salvage : Remedy::none};
  } else if (hint.remedy != Remedy::crc_check_off && offset == 0) {
    hint = hint_for_start(following, compression);
  }
  return Error({.kind = ErrorKind::corrupted,
                .path = path,
                .offset = offset,
                .reason = unfit("length", stored, crc),
                .hint = std::move(hint.text),
                .remedy = hint.remedy});
}

Error impossible_length(const std::string& path, uint64_t offset, uint64_t length) {
  return Error({.kind = ErrorKind::corrupted,
                .path = path,
                .offset = offset,
                .reason = "a length of " + std::to_string(length) +
                          " bytes, more than any file has: corrupted record",
                .hint = std::string(kDamagedFileHint),
                .remedy = Remedy::salvage});
}

Error too_long_record(const std::string& path, uint64_t offset, uint64_t length,
                      uint64_t max_record_size) {
  return Error({.kind = ErrorKind::limit_exceeded,
                .path = path,
                .offset = offset,
                .reason = "a record of " + std::to_string(length) + " bytes, more than the " +
                          std::to_string(max_record_size) + " allowed,",
                .hint = "if the length is correct, raise max_record_size; else the file is damaged",
                .remedy = Remedy::raise_max_record_size});
}

// Returns the error for a fault of the framing.
Error header_error(const RecordFrame& frame, const std::string& path, uint64_t offset,
                   std::span<const std::byte> start, const FramingRules& rules) {
  switch (frame.fault) {
    case FramingFault::header_cut:
      return truncated_record(path, offset, "header");
    case FramingFault::length_crc:
      return corrupted_length(path, offset, start.first(std::min(start.size(), kBytesForHint)),
                              rules.compression);
    case FramingFault::length_impossible:
      return impossible_length(path, offset, frame.length);
    case FramingFault::too_long:
      return too_long_record(path, offset, frame.length, rules.max_record_size);
    case FramingFault::data_cut:
      return truncated_record(path, offset, "data");
    default:
      return truncated_record(path, offset, "data CRC");
  }
}

}  // namespace

Error framing_error(const RecordFrame& frame, const std::string& path, uint64_t offset,
                    std::span<const std::byte> start, const FramingRules& rules) {
  if (frame.fault == FramingFault::none || frame.fault == FramingFault::data_crc) {
    return corrupted_data(path, offset, crc32c(frame.data(start)), frame.footer(start));
  }
  const Error error = header_error(frame, path, offset, start, rules);
  return offset == 0 ? with_format(error, start) : error;
}

Error corrupted_data(const std::string& path, uint64_t offset, uint32_t crc,
                     std::span<const std::byte, kRecordFooterSize> footer) {
  const auto stored = load_little_endian<uint32_t>(footer.data());
  Hint hint = hint_for_crc(stored, crc);
  return Error({.kind = ErrorKind::corrupted,
                .path = path,
                .offset = offset,
                .reason = unfit("data", stored, crc),
                .hint = std::move(hint.text),
                .remedy = hint.remedy});
}

Error not_as_indexed(const std::string& path, uint64_t offset, uint64_t size) {
  return Error({.kind = ErrorKind::corrupted,
                .path = path,
                .offset = offset,
                .reason = "the indexed record of " + std::to_string(size) + " bytes was not found",
                .hint = "the record is damaged, or the index belongs to another file or is older "
                        "than this one: recreate the index (tfrecord index)"});
}

Error cut_while_mapped(const std::string& path, uint64_t offset) {
  return Error({.kind = ErrorKind::truncated,
                .path = path,
                .offset = offset,
                .reason = "the file was truncated, or could not be read, while in use: truncated "
                          "record",
                .hint = "another program is writing to it, or the device is failing"});
}

std::array<std::byte, kRecordHeaderSize> encode_record_header(uint64_t length) {
  std::array<std::byte, kRecordHeaderSize> header{};
  store_little_endian(length, header.data());
  store_little_endian(mask_crc(crc32c(std::span(header).first<8>())), header.data() + 8);
  return header;
}

std::array<std::byte, kRecordFooterSize> encode_record_footer(std::span<const std::byte> data) {
  std::array<std::byte, kRecordFooterSize> footer{};
  store_little_endian(mask_crc(crc32c(data)), footer.data());
  return footer;
}

std::optional<uint64_t> decode_record_header(std::span<const std::byte, kRecordHeaderSize> header) {
  const RecordFrame frame = parse_record_header(header, UINT64_MAX);
  if (frame.fault == FramingFault::length_crc) return std::nullopt;
  return frame.length;
}

uint64_t decode_record_length(std::span<const std::byte, kRecordHeaderSize> header) {
  return load_little_endian<uint64_t>(header.data());
}

bool record_footer_matches(std::span<const std::byte, kRecordFooterSize> footer,
                           std::span<const std::byte> data) {
  return load_little_endian<uint32_t>(footer.data()) == mask_crc(crc32c(data));
}

}  // namespace recordpipe
