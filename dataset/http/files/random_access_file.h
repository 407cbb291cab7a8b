// Provides random access to the file at a URL with range requests.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dataset/http/files/range_request.h"
#include "dataset/http/target.h"
#include "recordpipe/base/internal/fork.h"
#include "recordpipe/http/file_system.h"
#include "recordpipe/http/url.h"
#include "recordpipe/io/file.h"

namespace recordpipe {

// A request fetches a window; reads inside the last window need no request. A read shortly after
// the end of the window (at most one window length) doubles the window size, up to the largest: a
// walk over the headers of short records requests megabytes at a time. A more distant read resets
// the window size to the smallest: a walk over long records does not transfer their data. Reads of
// at least the window size bypass the window.
//
// Thread-safe. Each thread makes its own requests, unless another thread has already requested a
// window with the next byte to be read; then the thread waits for that window. Every response must
// be for the file that was opened: it must have the same size and, if the server sends one, the
// same strong ETag.
class HttpRandomAccessFile final : public RandomAccessFile {
 public:
  // Requests the first window; the response contains the size. Throws Error{unsupported} if the
  // server does not support range requests.
  HttpRandomAccessFile(HttpTarget target, const HttpReadOptions& options,
                       std::shared_ptr<HttpClient> client);
  // Requests nothing: the file was opened before. `first`: its first bytes, which are copied.
  HttpRandomAccessFile(HttpTarget target, const HttpReadOptions& options,
                       std::shared_ptr<HttpClient> client, const RangeVersion& version,
                       std::span<const std::byte> first);

  uint64_t size() const override { return size_; }
  std::span<const std::byte> read(uint64_t offset, size_t size,
                                  std::span<std::byte> scratch) const override;
  // Reads with gaps of at most the smallest window size are combined into one request to the
  // server, of at most the largest window size. Up to 16 requests are sent at a time.
  void read_many(std::span<ReadRequest> requests) const override;
  std::string identity() const override;
  const std::string& path() const override { return url_.shown(); }

 private:
  // Reads that are performed as one.
  struct SentGroup {
    std::vector<std::byte> bytes = {};           // of several reads
    std::unique_ptr<RangeRequest> request = {};  // null: they are done
  };

  bool in_window(uint64_t offset, size_t size) const;
  std::unique_ptr<RangeRequest> request(uint64_t first, std::span<std::byte> out) const;
  SentGroup start_group(std::span<ReadRequest* const> group, uint64_t end) const;
  static void finish_group(std::span<ReadRequest* const> group, SentGroup sent);
  void after_fork();
  // Requests a window from `offset` on. Releases `lock` meanwhile.
  void move_window(uint64_t offset, std::unique_lock<std::mutex>& lock) const;

  const HttpTarget target_;
  const HttpUrl& url_ = target_.url;
  const HttpReadOptions options_;
  const std::shared_ptr<HttpClient> client_;
  uint64_t size_ = 0;
  std::string validator_;  // "" for none

  mutable std::mutex mutex_;  // guards all members below
  mutable uint64_t window_begin_ = 0;
  mutable std::vector<std::byte> window_;
  mutable size_t window_size_;                                    // requested size of window_
  mutable std::vector<std::pair<uint64_t, uint64_t>> requested_;  // windows: begin and end
  mutable std::condition_variable arrived_;
  const internal::AfterFork renewal_{[this] { after_fork(); }};
};

}  // namespace recordpipe
