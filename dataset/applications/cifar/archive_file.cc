#include "dataset/applications/cifar/archive_file.h"

#include <utility>

#include "recordpipe/stop.h"

namespace recordpipe {

ArchiveFile::ArchiveFile(FileSystem& file_system, const std::string& path,
                         std::shared_ptr<Sha256> hash, std::string_view activity,
                         ProgressFunction progress, std::stop_token stop)
    : file_(file_system.open_source(path)),
      hash_(std::move(hash)),
      progress_(std::move(progress)),
      stop_(std::move(stop)),
      state_{.activity = activity} {
  const auto status = file_system.status(path);
  if (status && status->kind == FileKind::regular) state_.total = status->size;
}

size_t ArchiveFile::read(std::span<std::byte> out) {
  throw_if_stopped(stop_, path());
  const size_t count = file_->read(out);
  if (hash_) hash_->update(out.first(count));
  state_.done += count;
  if (progress_) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= next_report_ || count == 0) {
      next_report_ = now + std::chrono::milliseconds(100);
      progress_(state_);
    }
  }
  return count;
}

}  // namespace recordpipe
