#include "dataset/pipeline/operators/sources/open_ahead.h"

#include <algorithm>
#include <utility>

namespace recordpipe::internal {
namespace {

// If the open files are larger than this in total, no further file is opened: their pages would
// evict each other from the page cache.
constexpr uint64_t kMaxBytes = uint64_t{64} << 20;

}  // namespace

void OpenAhead::want(std::span<const size_t> numbers) {
  size_t waiting = 0;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(files_, [&](const auto& file) {
      const bool is_wanted = std::ranges::find(numbers, file.first) != numbers.end();
      return !is_wanted && file.second.progress != Progress::opening;
    });
    for (const size_t number : numbers) {
      if (files_[number].progress == Progress::waiting) ++waiting;
    }
    waiting -= std::min(waiting, visits_);
    visits_ += waiting;
  }
  for (; waiting > 0; --waiting) crew_->submit(weak_from_this());
}

OpenRecordFilePtr OpenAhead::take(size_t number) {
  std::unique_lock lock(mutex_);
  const auto file = files_.find(number);
  if (file == files_.end()) return nullptr;
  opened_.wait(lock, [&] { return file->second.progress != Progress::opening; });
  OpenRecordFilePtr opened = std::move(file->second.opened);
  files_.erase(file);
  return opened;
}

void OpenAhead::stop() {
  stop_.request_stop();
  std::unique_lock lock(mutex_);
  opened_.wait(lock, [&] { return opening_ == 0; });
  files_.clear();
  crew_.reset();  // a thread of it may own this object for a moment more
}

void OpenAhead::work() noexcept {
  std::unique_lock lock(mutex_);
  --visits_;
  if (stop_.stop_requested()) return;
  uint64_t bytes = 0;
  for (const auto& [number, file] : files_) {
    if (file.opened) bytes += file.opened->file.bytes().size();
  }
  if (bytes > kMaxBytes) return;
  const auto file = std::ranges::find_if(
      files_, [](const auto& entry) { return entry.second.progress == Progress::waiting; });
  if (file == files_.end()) return;
  file->second.progress = Progress::opening;  // from here on, it is not dropped
  ++opening_;
  lock.unlock();
  OpenRecordFilePtr opened;
  try {
    opened = open_(file->first, stop_.get_token());
  } catch (...) {
    // The planning thread gets the same error.
  }
  lock.lock();
  file->second.opened = std::move(opened);
  file->second.progress = Progress::done;
  --opening_;
  opened_.notify_all();
}

}  // namespace recordpipe::internal
