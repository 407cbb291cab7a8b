// Stores data that exceeds the memory in an unnamed file. The kernel removes the file when it is
// closed, however the process ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace recordpipe {

// Supports append-only writes, and reads at any offset. Not thread-safe. Errors name the directory.
class TemporaryFile {
 public:
  // Creates the file on the file system of `directory`, with permissions 0600.
  explicit TemporaryFile(const std::string& directory);
  ~TemporaryFile();
  TemporaryFile(TemporaryFile&&) noexcept;
  TemporaryFile& operator=(TemporaryFile&&) noexcept;

  void append(std::span<const std::byte> data);
  uint64_t size() const;
  // Fills `out` with the bytes at `offset`; offset + out.size() must be at most size().
  void read_at(uint64_t offset, std::span<std::byte> out) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace recordpipe
