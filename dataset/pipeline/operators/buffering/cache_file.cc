#include "dataset/pipeline/operators/buffering/cache_file.h"

#include <algorithm>
#include <array>
#include <span>

#include "dataset/pipeline/state/iterator_state.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/endian.h"
#include "recordpipe/base/internal/url_path.h"

namespace recordpipe::internal {
namespace {

constexpr std::string_view kMagic = "recordpipe cache 1\n";
constexpr std::string_view kEnd = "recordpipe cache end\n";
constexpr size_t kIdSize = 16;

[[noreturn]] void refuse_cache(const std::string& path, const std::string& reason) {
  throw Error({.kind = ErrorKind::invalid_argument,
               .path = path,
               .reason = "a cache of another pipeline: " + reason,
               .hint = "remove it, or name another file"});
}

const std::byte* bytes_of(std::string_view text) {
  return reinterpret_cast<const std::byte*>(text.data());
}

void append_uint64(uint64_t number, std::string& out) {
  std::array<std::byte, 8> bytes;
  store_little_endian(number, bytes.data());
  out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::string header_of(const CacheIdentity& identity) {
  std::string header(kMagic);
  header += identity.elements;
  header += '\0';
  // A complete pass opens all files.
  FileFingerprints files;
  for (const auto& [file_system, path] : identity.plan.source_files()) {
    files.opened(*file_system, path, fingerprint_of(*file_system, path));
  }
  return header + save_iterator_state(identity.plan, {}, files);
}

std::string end_of(uint64_t elements) {
  std::string end(kEnd);
  append_uint64(elements, end);
  return end;
}

// Checks the files that inputs have read; `list` is the part of the last record after end_of().
// Returns false if `list` is not a list of files.
bool check_input_files(FileSystem& file_system, const std::string& cache, std::string_view list) {
  const auto next = [&](size_t size) {
    const std::string_view part = list.substr(0, size);
    list.remove_prefix(part.size());
    return part;
  };
  while (!list.empty()) {
    if (list.size() < 2 * sizeof(uint64_t)) return false;
    const auto content = load_little_endian<uint64_t>(bytes_of(next(8)));
    const auto size = load_little_endian<uint64_t>(bytes_of(next(8)));
    if (size > list.size()) return false;
    const std::string path(next(size));
    if (!file_system.status(path)) continue;
    if (fingerprint_of(file_system, path).content != content) {
      refuse_cache(cache, shown_path(path) +
                              ": is another file than it was made from, or has changed since");
    }
  }
  return true;
}

std::string_view text_of(const Record& record) {
  return {reinterpret_cast<const char*>(record.data.data()), record.data.size()};
}

void check_header(const std::string& path, std::string_view header, const CacheIdentity& identity) {
  header.remove_prefix(kMagic.size());
  const std::string_view elements = header.substr(0, header.find('\0'));
  if (elements != identity.elements) {
    refuse_cache(
        path, "its elements are " + printable(elements) + ", not " + printable(identity.elements));
  }
  header.remove_prefix(std::min(header.size(), elements.size() + 1));
  try {
    FileFingerprints files;
    load_iterator_state(identity.plan, header, files);
  } catch (const Error& error) {
    refuse_cache(path, error.path().empty() ? error.reason()
                                            : printable(error.path()) + ": " + error.reason());
  }
}

}  // namespace

CacheReader::CacheReader(FileSystem& file_system, const std::string& path,
                         const CacheIdentity& identity)
    : file_(file_system, path, {.compression = Compression::none}) {
  const auto damaged = [&](const char* reason) {
    return Error({.kind = ErrorKind::corrupted,
                  .path = path,
                  .reason = reason,
                  .hint = "remove it, or name another file"});
  };
  if (file_.size() < 2) throw damaged("not a whole cache file");
  const Record header = file_.read(0);
  if (!text_of(header).starts_with(kMagic)) throw damaged("not a cache file");
  check_header(path, text_of(header), identity);
  const std::string_view last = text_of(file_.read(file_.size() - 1));
  const std::string end = end_of(size());
  if (!last.starts_with(end) || !check_input_files(file_system, path, last.substr(end.size()))) {
    throw damaged("not a whole cache file");
  }
  for (uint64_t i = 0; i < size(); ++i) {
    if (file_.view(i + 1).data.size() < kIdSize) throw damaged("not a cache file");
  }
}

ElementId CacheReader::id(uint64_t i) const {
  const std::byte* bytes = file_.view(i + 1).data.data();
  return {load_little_endian<uint64_t>(bytes), load_little_endian<uint64_t>(bytes + 8)};
}

Record CacheReader::read(uint64_t i) const {
  Record record = file_.read(i + 1);
  record.data = record.data.subspan(kIdSize);
  record.path = file_.path();
  return record;
}

CacheWriter::CacheWriter(FileSystem& file_system, const std::string& path,
                         const CacheIdentity& identity)
    : file_system_(file_system),
      sources_(identity.plan.source_files()),
      writer_(file_system, path) {
  const std::string header = header_of(identity);
  writer_.write(std::as_bytes(std::span(header)));
}

void CacheWriter::start(const ElementId& id) {
  bytes_.clear();
  append_uint64(id.epoch, bytes_);
  append_uint64(id.index, bytes_);
}

void CacheWriter::write() {
  writer_.write(std::as_bytes(std::span(bytes_)));
  ++elements_;
}

void CacheWriter::finish(const FileFingerprints& files) {
  std::string end = end_of(elements_);
  for (const FileFingerprints::Opened& file : files.opened_besides(sources_)) {
    if (file.file_system != &file_system_ || without_secrets(file.path) != file.path) continue;
    append_uint64(file.fingerprint.content, end);
    append_uint64(file.path.size(), end);
    end += file.path;
  }
  writer_.write(std::as_bytes(std::span(end)));
  writer_.close();
}

}  // namespace recordpipe::internal
