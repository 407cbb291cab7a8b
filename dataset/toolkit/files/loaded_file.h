// A small file in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "dataset/io/raw_buffer.h"
#include "recordpipe/io/file.h"

namespace recordpipe {

// Files up to this size are loaded: reading them once takes less time than mapping them, and than
// reading their records one by one.
inline constexpr uint64_t kMaxLoaded = uint64_t{1} << 20;

// The content of a regular file, read once and whole.
class LoadedFile final : public RandomAccessFile {
 public:
  explicit LoadedFile(const RandomAccessFile& file);

  // Less than the file's size when it was opened if it was truncated since then.
  uint64_t size() const override { return size_; }
  std::span<const std::byte> read(uint64_t offset, size_t size,
                                  std::span<std::byte> scratch) const override;
  bool stable() const override { return true; }
  const std::string& path() const override { return path_; }
  std::span<const std::byte> bytes() const { return content_.part(0, size_); }

 private:
  const std::string path_;
  RawBuffer content_;
  size_t size_;
};

// Returns `file`, a local one, or its content if it is small.
std::unique_ptr<RandomAccessFile> loaded_if_small(std::unique_ptr<RandomAccessFile> file);

}  // namespace recordpipe
