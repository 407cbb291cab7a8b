#include "dataset/toolkit/files/file_work.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

#include "recordpipe/error.h"
#include "recordpipe/glob.h"
#include "recordpipe/internal/url_path.h"
#include "recordpipe/record_format.h"
#include "recordpipe/record_index.h"
#include "recordpipe/stop.h"
#include "recordpipe/stream_compression.h"

namespace recordpipe {
namespace {

// Checks for a stop request before each read of a file; the reads never block for long.
class StoppableSource final : public ByteSource {
 public:
  StoppableSource(std::unique_ptr<ByteSource> source, std::stop_token stop)
      : source_(std::move(source)), stop_(std::move(stop)) {}

  size_t read(std::span<std::byte> out) override {
    throw_if_stopped(stop_, path());
    return source_->read(out);
  }
  const std::string& path() const override { return source_->path(); }

 private:
  std::unique_ptr<ByteSource> source_;
  const std::stop_token stop_;
};

class TappedSource final : public ByteSource {
 public:
  TappedSource(std::unique_ptr<ByteSource> source,
               std::function<void(std::span<const std::byte>)> after)
      : source_(std::move(source)), after_(std::move(after)) {}

  size_t read(std::span<std::byte> out) override {
    const size_t size = source_->read(out);
    after_(out.first(size));
    return size;
  }
  const std::string& path() const override { return source_->path(); }

 private:
  const std::unique_ptr<ByteSource> source_;
  const std::function<void(std::span<const std::byte>)> after_;
};

}  // namespace

std::vector<std::string> expand_patterns(FileSystem& files, const std::vector<std::string>& given) {
  std::vector<std::string> paths;
  for (const std::string& path : given) {
    if (is_http_url(path) || !has_glob_characters(path) || files.status(path).has_value()) {
      paths.push_back(path);
      continue;
    }
    std::vector<std::string> found = glob_record_files(files, path);
    if (found.empty()) {
      throw Error({.kind = ErrorKind::not_found, .path = path, .reason = "no file matches"});
    }
    std::ranges::move(found, std::back_inserter(paths));
  }
  return paths;
}

std::unique_ptr<ByteSource> tapped(std::unique_ptr<ByteSource> source,
                                   std::function<void(std::span<const std::byte>)> after) {
  return std::make_unique<TappedSource>(std::move(source), std::move(after));
}

std::unique_ptr<ByteSource> open_uncounted(const FileWork& work, const std::string& path) {
  if (work.is_stream && work.is_stream(path)) return work.open_stream(path);
  return std::make_unique<StoppableSource>(work.files.open_source(path), work.stop);
}

std::unique_ptr<ByteSource> open_counted(const FileWork& work, const std::string& path) {
  auto source = open_uncounted(work, path);
  if (!work.advance) return source;
  return tapped(std::move(source), [advance = work.advance](std::span<const std::byte> bytes) {
    advance(bytes.size());
  });
}

std::unique_ptr<RandomAccessFile> open_random_input(const FileWork& work, const std::string& path) {
  if (work.is_stream && work.is_stream(path)) return nullptr;
  try {
    const auto status = work.files.status(path);
    if (!status || status->kind != FileKind::regular) return nullptr;
    return work.files.open_random(path);
  } catch (const Error& error) {
    // The server sends no size or doesn't support ranges.
    if (error.kind() == ErrorKind::unsupported) return nullptr;
    throw;
  }
}

bool can_be_mapped(const FileWork& work, const std::string& path,
                   const RecordReadOptions& reading) {
  if (is_http_url(path) || (work.is_stream && work.is_stream(path))) return false;
  const auto status = work.files.status(path);
  return status && status->kind == FileKind::regular &&
         detect_compression(work.files, path, reading) == Compression::none;
}

Compression compression_of(const RandomAccessFile& file, const RecordReadOptions& reading) {
  std::array<std::byte, kRecordHeaderSize> head;
  const size_t size = file.read_at(0, head);
  return detect_record_compression(std::span(head).first(size), reading);
}

bool index_fits(FileSystem& files, const std::string& path, const RandomAccessFile& file) {
  const std::string index_path = record_index_path(path);
  try {
    const auto status = files.status(index_path);
    if (!status || status->kind != FileKind::regular) return false;  // opening a FIFO would block
    RecordIndexReader index(files, index_path);
    check_record_index(index, file, IndexedHeaders::some);
    return true;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::cancelled) throw;
    return false;
  }
}

}  // namespace recordpipe
