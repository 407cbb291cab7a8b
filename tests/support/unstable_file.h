// Implements a file that is not stable(), like a file at a URL: its views are in the caller's
// memory.
#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "recordpipe/base/error.h"
#include "tests/support/bytes.h"
#include "tests/support/single_file_system.h"

namespace recordpipe {

// The fault of an UnstableFile from its nth read on (n = 1: the first).
struct UnstableFileFault {
  uint64_t at_read = 0;  // 0: never
  uint64_t cut_to = 0;   // another program truncates the file to this size, or
  bool fails = false;    // reads throw Error{io}
};

// A read overwrites all of `scratch`, so that no bytes of an earlier read remain.
class UnstableFile final : public RandomAccessFile {
 public:
  UnstableFile(std::string content, std::string path, UnstableFileFault fault = {})
      : content_(std::move(content)), path_(std::move(path)), fault_(fault) {}

  uint64_t size() const override { return content_.size(); }
  std::span<const std::byte> read(uint64_t offset, size_t size,
                                  std::span<std::byte> scratch) const override {
    const bool is_faulty = ++reads_ >= fault_.at_read && fault_.at_read > 0;
    if (is_faulty && fault_.fails) throw system_error(EIO, "read", path_);
    if (is_faulty) cut_ = true;
    const uint64_t end = is_faulty ? fault_.cut_to : content_.size();
    const auto there = as_bytes(content_).first(end).subspan(std::min(offset, end));
    const auto out = scratch.first(size).first(std::min(size, there.size()));
    if (!scratch.empty()) std::memset(scratch.data(), 0xDD, scratch.size());
    if (!out.empty()) std::memcpy(out.data(), there.data(), out.size());
    return out;
  }
  bool damaged() const override { return cut_; }
  const std::string& path() const override { return path_; }
  uint64_t reads() const { return reads_; }

 private:
  const std::string content_;
  const std::string path_;
  const UnstableFileFault fault_;
  mutable std::atomic<uint64_t> reads_ = 0;
  mutable std::atomic<bool> cut_ = false;
};

// Like a file system of URLs: files can't be mapped.
class UnstableFileSystem final : public SingleFileSystem {
 public:
  using SingleFileSystem::SingleFileSystem;
  std::unique_ptr<RandomAccessFile> open_random(const std::string& path) override {
    return std::make_unique<UnstableFile>(content(), path);
  }
  std::unique_ptr<MappedFile> map(const std::string& path) override {
    throw Error({.kind = ErrorKind::unsupported, .path = path, .reason = "can't be mapped"});
  }
};

}  // namespace recordpipe
