// A file without a name, for what doesn't fit into memory: it is gone when it is closed, however
// the process ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace recordpipe {

// Written at its end, read at any place. One thread at a time. Throws Error with the folder's path.
class TemporaryFile {
 public:
  // On the file system of `directory`, readable by nobody else.
  explicit TemporaryFile(const std::string& directory);
  ~TemporaryFile();
  TemporaryFile(TemporaryFile&&) noexcept;
  TemporaryFile& operator=(TemporaryFile&&) noexcept;

  void append(std::span<const std::byte> data);
  uint64_t size() const;
  // Fills `out` from `offset`: offset + out.size() must not be beyond the end.
  void read_at(uint64_t offset, std::span<std::byte> out) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace recordpipe
