#include "recordpipe/record/stream_compression.h"

#include <array>
#include <cstdint>
#include <exception>
#include <utility>

#include "dataset/base/damage_hint.h"
#include "dataset/io/compression/counted_loss.h"
#include "dataset/record/other_format.h"
#include "dataset/record/snappy_source.h"
#include "recordpipe/record/record_format.h"

namespace recordpipe {
namespace {

// Whether `header` looks like a record header, without checking its CRC: the length is below 4 GiB,
// that is, bytes 4 to 7 are zeros. At this position, zlib streams have the middle of a block
// header, and zstd frames have the end of the frame header and the start of a block header; no
// compressor writes four zeros there. gzip has the modification time there, which is often zero:
// bytes that match gzip's magic number and method count as gzip.
bool looks_like_length(std::span<const std::byte, kRecordHeaderSize> header) {
  const bool is_gzip =
      header[0] == std::byte{0x1f} && header[1] == std::byte{0x8b} && header[2] == std::byte{0x08};
  return !is_gzip && decode_record_length(header) <= UINT32_MAX;
}

// What is compressed may be compressed again: by a program that didn't notice, or by a server. zlib
// is left out: its two bytes may be those of a damaged record.
constexpr int kMaxLayers = 4;

Compression inner_compression(std::span<const std::byte> head, const RecordReadOptions& options) {
  RecordReadOptions detecting = options;
  detecting.compression.reset();
  const Compression inner = detect_record_compression(head, detecting);
  const bool is_gzip = inner != Compression::gzip || (head.size() > 2 && head[2] == std::byte{8});
  return inner == Compression::zlib || !is_gzip ? Compression::none : inner;
}

// Whether inflate() knows read_on_after_damage for this format.
bool can_read_on(Compression compression) { return compression < Compression::bzip2; }

std::unique_ptr<ByteSource> decompressed(std::unique_ptr<ByteSource> source,
                                         Compression compression, const RecordReadOptions& options,
                                         const InflateOptions& inflating, int layers);

// The content of a compressed source; decompressed once more, if it is compressed. Finds that out
// at the first read: a live source may have no bytes when it is opened.
class Content final : public ByteSource {
 public:
  Content(std::unique_ptr<ByteSource> source, const RecordReadOptions& options,
          const InflateOptions& inflating, int layers)
      : path_(source->path()),
        source_(std::move(source)),
        options_(options),
        inflating_(inflating),
        layers_(layers) {}

  size_t read(std::span<std::byte> out) override {
    if (!is_known_) look();
    return source_->read(out);
  }

  // Of any thread: another one may read ahead, and look.
  const std::string& path() const override { return path_; }

 private:
  void look() {
    is_known_ = true;
    // Its errors come after the bytes before them.
    auto held = std::make_unique<HeldError>(std::move(source_));
    HeldError& errors = *held;
    PeekedSource peeked = peek(std::move(held), kRecordHeaderSize);
    errors.hand_on();
    source_ = std::move(peeked.source);
    const Compression inner = inner_compression(peeked.head, options_);
    if (inner == Compression::none) return;
    source_ = decompressed(std::move(source_), inner, options_, inflating_, layers_ + 1);
  }

  // While the first bytes are looked at, an error is an end; read() throws it afterwards.
  class HeldError final : public ByteSource {
   public:
    explicit HeldError(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}
    size_t read(std::span<std::byte> out) override {
      if (is_held_ && error_) return 0;
      if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
      try {
        return source_->read(out);
      } catch (...) {
        if (!is_held_) throw;
        error_ = std::current_exception();
        return 0;
      }
    }
    void hand_on() { is_held_ = false; }
    const std::string& path() const override { return source_->path(); }

   private:
    const std::unique_ptr<ByteSource> source_;
    bool is_held_ = true;
    std::exception_ptr error_;
  };

  const std::string path_;
  std::unique_ptr<ByteSource> source_;
  const RecordReadOptions options_;
  const InflateOptions inflating_;
  const int layers_;
  bool is_known_ = false;
};

std::unique_ptr<ByteSource> decompressed(std::unique_ptr<ByteSource> source,
                                         Compression compression, const RecordReadOptions& options,
                                         const InflateOptions& inflating, int layers) {
  if (compression == Compression::none) return source;
  const auto decompress = [&](std::unique_ptr<ByteSource> compressed) {
    return compression == Compression::snappy
               ? read_snappy(std::move(compressed))
               : inflate(std::move(compressed), compression, inflating);
  };
  auto content = inflating.read_on_after_damage && !can_read_on(compression)
                     ? with_counted_loss(std::move(source), decompress)
                     : decompress(std::move(source));
  if (layers == kMaxLayers) return content;
  return std::make_unique<Content>(std::move(content), options, inflating, layers);
}

// A source that is read with a given compression: another one, or none, is an error and no damage,
// which would be skipped. Looks at the first bytes that are read: a live source may have none when
// it is opened.
class GivenCompression final : public ByteSource {
 public:
  GivenCompression(std::unique_ptr<ByteSource> source, Compression given)
      : path_(source->path()), source_(std::move(source)), given_(given) {}

  size_t read(std::span<std::byte> out) override {
    size_t count = source_->read(out);
    if (std::exchange(is_known_, true)) return count;
    // A pipe may give a few bytes at first.
    for (size_t more = count; more > 0 && count < std::min(out.size(), kRecordHeaderSize);) {
      more = source_->read(out.subspan(count));
      count += more;
    }
    check(out.first(count));
    return count;
  }

  const std::string& path() const override { return path_; }

 private:
  void check(std::span<const std::byte> head) const {
    const Compression found = sniff_compression(head);
    // Two bytes, which are zlib's, may be damaged ones of another format.
    if (found == given_ || found == Compression::zlib) return;
    Error::Parts parts = {.kind = ErrorKind::invalid_argument,
                          .path = path_,
                          .reason = "not compressed with " + std::string(to_string(given_))};
    const bool is_plain = head.size() >= kRecordHeaderSize &&
                          decode_record_header(head.first<kRecordHeaderSize>()).has_value();
    if (found == Compression::none && !is_plain) {
      parts.hint = hint_for_other_format(head);
      if (parts.hint.empty()) return;
      throw Error(std::move(parts));
    }
    parts.reason += is_plain ? ", but TFRecords without compression"
                             : ", but with " + std::string(to_string(found));
    parts.hint = kDetect;
    parts.remedy = Remedy::detect_compression;
    throw Error(std::move(parts));
  }

  const std::string path_;
  const std::unique_ptr<ByteSource> source_;
  const Compression given_;
  bool is_known_ = false;
};

}  // namespace

Compression detect_record_compression(std::span<const std::byte> head,
                                      const RecordReadOptions& options) {
  if (options.compression) return *options.compression;
  if (head.size() >= kRecordHeaderSize) {
    const auto header = head.first<kRecordHeaderSize>();
    if (decode_record_header(header)) return Compression::none;
    if (options.crc == CrcCheck::never && looks_like_length(header)) return Compression::none;
  }
  return sniff_compression(head);
}

DetectedSource detect_source(std::unique_ptr<ByteSource> raw, const RecordReadOptions& options,
                             const InflateOptions& inflating) {
  const auto inflated = [&](std::unique_ptr<ByteSource> source, Compression compression) {
    const bool reads_on = inflating.read_on_after_damage && compression != Compression::none &&
                          can_read_on(compression);
    return DetectedSource{decompressed(std::move(source), compression, options, inflating, 1),
                          compression, reads_on};
  };
  // The source is read only if necessary: a live source may have no bytes yet.
  if (options.compression) {
    if (*options.compression != Compression::none) {
      raw = std::make_unique<GivenCompression>(std::move(raw), *options.compression);
    }
    return inflated(std::move(raw), *options.compression);
  }
  PeekedSource peeked = peek(std::move(raw), kRecordHeaderSize);
  return inflated(std::move(peeked.source), detect_record_compression(peeked.head, options));
}

Compression detect_compression(FileSystem& file_system, const std::string& path,
                               const RecordReadOptions& options) {
  std::array<std::byte, kRecordHeaderSize> head{};
  const size_t size = read_fully(*file_system.open_source(path), head);
  return detect_record_compression(std::span(head).first(size), options);
}

Compression detect_compression(const RandomAccessFile& file, const RecordReadOptions& options) {
  std::array<std::byte, kRecordHeaderSize> head;
  // Reading bytes of a mapped file into memory would open a descriptor.
  const auto scratch = file.stable() ? std::span<std::byte>() : std::span(head);
  return detect_record_compression(file.read(0, head.size(), scratch), options);
}

std::unique_ptr<MappedFile> map_plain_file(FileSystem& file_system, const std::string& path,
                                           const RecordReadOptions& options) {
  auto file = file_system.map(path);
  return detect_compression(*file, options) == Compression::none ? std::move(file) : nullptr;
}

}  // namespace recordpipe
