// Provides random access to a file at a distance.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dataset/io/ranged_file.h"
#include "recordpipe/base/internal/fork.h"
#include "recordpipe/io/file.h"

namespace recordpipe {

// A request fetches a window; reads inside the last window need no request. A read shortly after
// the end of the window (at most one window length) doubles the window size, up to the largest: a
// walk over the headers of short records requests megabytes at a time. A more distant read resets
// the window size to the smallest: a walk over long records does not transfer their data. Reads of
// at least the window size bypass the window.
//
// Thread-safe. Each thread makes its own requests, unless another thread has already requested a
// window with the next byte to be read; then the thread waits for that window. A small file is read
// in one piece.
class WindowedFile final : public RandomAccessFile {
 public:
  // `first`: the start of the file, which was read already.
  WindowedFile(std::shared_ptr<const RangedFile> file, const RangeOptions& options,
               std::vector<std::byte> first);

  uint64_t size() const override { return file_->size(); }
  std::span<const std::byte> read(uint64_t offset, size_t size,
                                  std::span<std::byte> scratch) const override;
  // Reads with gaps of at most the smallest window size are combined into one request to the
  // server, of at most the largest window size. Up to 24 requests, of 32 MiB together, are sent at
  // a time.
  void read_many(std::span<ReadRequest> requests) const override;
  // will_need: sends a request for the range, unless 32 such ranges, or 32 MiB, wait to be read.
  // One that was not read is dropped after 1024 further hints.
  void hint(uint64_t offset, uint64_t size, ReadHint hint) const override;
  std::string identity() const override;
  const std::string& path() const override { return file_->path(); }

 private:
  // A range that was requested before it is read.
  struct SentRange {
    std::unique_ptr<RequestedRange> range = {};  // null: there is none
    uint64_t begin = 0;
    size_t size = 0;
    uint64_t hint = 0;  // its number
  };

  bool is_small() const { return file_->size() <= options_.small_file; }
  bool in_window(uint64_t offset, size_t size) const;
  // With the lock. Takes the range that was sent with these bytes.
  SentRange take_sent(uint64_t offset, size_t size) const;
  SentRange start_group(std::span<ReadRequest* const> group, uint64_t end) const;
  static void finish_group(std::span<ReadRequest* const> group, SentRange sent);
  void after_fork();
  // Requests a window from `offset` on. Releases `lock` meanwhile.
  void move_window(uint64_t offset, std::unique_lock<std::mutex>& lock) const;

  const std::shared_ptr<const RangedFile> file_;
  const RangeOptions options_;

  mutable std::mutex mutex_;  // guards all members below
  mutable uint64_t window_begin_ = 0;
  mutable std::vector<std::byte> window_;
  mutable size_t window_size_;                                    // requested size of window_
  mutable std::vector<std::pair<uint64_t, uint64_t>> requested_;  // windows: begin and end
  mutable std::condition_variable arrived_;
  mutable std::deque<SentRange> sent_;  // by hint(), the oldest first
  mutable uint64_t hints_ = 0;          // calls of hint()
  const internal::AfterFork renewal_{[this] { after_fork(); }};
};

}  // namespace recordpipe
