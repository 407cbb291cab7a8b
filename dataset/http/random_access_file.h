// The file at a URL, read at any place by range requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "recordpipe/file.h"
#include "recordpipe/http/client.h"
#include "recordpipe/http/file_system.h"
#include "recordpipe/http/url.h"

namespace recordpipe {

// A read asks for a window, and what lies in the last window needs no request. A read near the end
// of it (no farther away than the window is long) doubles the window, up to the largest: walking
// from one short record's header to the next asks for megabytes at a time. A read farther away
// makes it the smallest again: walking over long records leaves their payloads where they are. What
// is longer than the window is read straight to its place.
//
// One request at a time, whatever threads read. Every answer must be of the file that was opened:
// the same size and, where the server sends one, the same strong ETag.
class HttpRandomAccessFile final : public RandomAccessFile {
 public:
  // Asks for the first window, whose answer tells the size. Throws Error{unsupported} where the
  // server doesn't send parts of files.
  HttpRandomAccessFile(const std::string& url, const HttpReadOptions& options);

  uint64_t size() const override { return size_; }
  std::span<const std::byte> read(uint64_t offset, size_t size,
                                  std::span<std::byte> scratch) const override;
  // Requests that a window's smallest size or less lies between are one request to the server, of
  // up to a window's largest size.
  void read_many(std::span<ReadRequest> requests) const override;
  std::string identity() const override;
  const std::string& path() const override { return url_.shown(); }

 private:
  class Request;

  bool in_window(uint64_t offset, size_t size) const;
  void read_group(std::span<ReadRequest* const> group, uint64_t end) const;
  void fetch(uint64_t first, std::span<std::byte> out) const;
  void move_window(uint64_t offset) const;

  const HttpUrl url_;
  const HttpReadOptions options_;
  uint64_t size_ = 0;
  std::string validator_;  // "" for none

  mutable std::mutex mutex_;  // of all below
  mutable HttpClient client_;
  mutable uint64_t window_begin_ = 0;
  mutable std::vector<std::byte> window_;
  mutable size_t window_size_;  // the next one's
};

}  // namespace recordpipe
