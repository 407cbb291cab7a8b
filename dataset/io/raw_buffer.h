// An uninitialised byte buffer that grows without copying large blocks.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

namespace recordpipe {

// Uses realloc(), which remaps the pages of large blocks: a large buffer is never in memory twice.
// New bytes are uninitialised, so untouched pages take no memory.
class RawBuffer {
 public:
  explicit RawBuffer(size_t size) { resize(size); }

  std::byte* data() const { return bytes_.get(); }
  size_t size() const { return size_; }
  // The bytes [begin, end).
  std::span<std::byte> part(size_t begin, size_t end) const {
    return {bytes_.get() + begin, end - begin};
  }

  // Keeps the content up to the new size, which must be above 0. On failure, throws std::bad_alloc
  // and leaves the buffer unchanged.
  void resize(size_t size) {
    void* const bytes = std::realloc(bytes_.get(), size);
    if (bytes == nullptr) throw std::bad_alloc();
    bytes_.release();
    bytes_.reset(static_cast<std::byte*>(bytes));
    size_ = size;
  }

 private:
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };

  std::unique_ptr<std::byte, Free> bytes_;
  size_t size_ = 0;
};

}  // namespace recordpipe
