// A file at a distance, whose ranges are requested early and received later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace recordpipe {

// The destructor ends the request.
class RequestedRange {
 public:
  virtual ~RequestedRange() = default;
  // Waits until `bytes` are there. Must be called at most once. After an exception, `bytes` are
  // those before the failure.
  virtual void receive() = 0;

  std::vector<std::byte> bytes = {};
};

// Thread-safe.
class RangedFile {
 public:
  virtual ~RangedFile() = default;
  // `size`: at least 1. The range must be inside of the file. The file must outlive it.
  virtual std::unique_ptr<RequestedRange> request(uint64_t offset, size_t size) const = 0;
  // Throws if the file has changed since it was opened, unless the requests say so.
  virtual void check_unchanged() const {}
  virtual uint64_t size() const = 0;
  // Differs between the versions of the file; empty if unknown.
  virtual const std::string& version() const = 0;
  // The name in messages.
  virtual const std::string& path() const = 0;
};

// How a file is read by ranges. Sizes are in bytes.
struct RangeOptions {
  // For random access: the smallest and the largest range, and the largest file that is read in one
  // piece.
  size_t smallest_window = size_t{64} << 10;
  size_t largest_window = size_t{8} << 20;
  uint64_t small_file = 0;
  // For streams: the second range, after which they double, the largest one, and the most ranges
  // that are requested or wait to be read.
  size_t second_range = size_t{1} << 20;
  size_t range_size = size_t{8} << 20;
  size_t ranges_ahead = 4;
};

}  // namespace recordpipe
