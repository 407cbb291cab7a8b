#include "dataset/toolkit/files/file_work.h"

#include <string_view>
#include <utility>

#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/call_stop.h"
#include "recordpipe/base/stop.h"
#include "recordpipe/record/record_format.h"
#include "recordpipe/record/record_index.h"
#include "recordpipe/record/stream_compression.h"

namespace recordpipe {
namespace {

constexpr std::string_view kStandardInput = "-";

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

InputStatus input_status(const FileWork& work, const std::string& path) {
  if (work.open_stream && path == kStandardInput) return {.is_stream = true};
  if (!work.files.can_map(path)) return {};
  try {
    const auto status = work.files.status(path);
    if (!status || status->kind == FileKind::directory) return {};
    if (status->kind == FileKind::other) return {.is_stream = static_cast<bool>(work.open_stream)};
    return {.is_local_regular = true, .size = status->size};
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::cancelled) throw;
    return {};
  }
}

std::unique_ptr<ByteSource> tapped(std::unique_ptr<ByteSource> source,
                                   std::function<void(std::span<const std::byte>)> after) {
  return std::make_unique<TappedSource>(std::move(source), std::move(after));
}

std::unique_ptr<ByteSource> open_uncounted(const FileWork& work, const std::string& path,
                                           const std::optional<InputStatus>& status) {
  if ((status ? *status : input_status(work, path)).is_stream) return work.open_stream(path);
  // A file system that can't be told to stop takes the stop request from here.
  const internal::CallStopScope scope(work.stop);
  return std::make_unique<StoppableSource>(work.files.open_source(path), work.stop);
}

std::unique_ptr<ByteSource> open_counted(const FileWork& work, const std::string& path,
                                         const std::optional<InputStatus>& status) {
  auto source = open_uncounted(work, path, status);
  if (!work.advance) return source;
  return tapped(std::move(source), [advance = work.advance](std::span<const std::byte> bytes) {
    advance(bytes.size());
  });
}

std::unique_ptr<RandomAccessFile> open_random_input(const FileWork& work, const std::string& path,
                                                    const std::optional<InputStatus>& status) {
  const InputStatus known = status ? *status : input_status(work, path);
  if (known.is_local_regular) return work.files.open_random(path);
  if (known.is_stream || work.files.can_map(path)) return nullptr;
  try {
    if (!regular_file_size(work.files, path)) return nullptr;
    const internal::CallStopScope scope(work.stop);
    return work.files.open_random(path);
  } catch (const Error& error) {
    // The server sends no size or doesn't support ranges.
    if (error.kind() == ErrorKind::unsupported) return nullptr;
    throw;
  }
}

std::optional<uint64_t> count_by_index(FileSystem& files, const std::string& path,
                                       const RandomAccessFile& file) {
  const std::string index_path = record_index_path(path);
  try {
    if (!regular_file_size(files, index_path)) return std::nullopt;
    RecordIndexReader index(files, index_path);
    return check_record_index(index, file, IndexedHeaders::some);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::cancelled) throw;
    return std::nullopt;
  }
}

}  // namespace recordpipe
