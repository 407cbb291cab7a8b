// Memory for bytes that are about to be read: moved without a copy where it grows large.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

namespace recordpipe {

// By malloc() and realloc(), which move large blocks by their pages: what is as large as the memory
// is never in it twice. New bytes aren't set to anything, so pages that nothing is put into take no
// memory either.
class RawBuffer {
 public:
  explicit RawBuffer(size_t size) { resize(size); }

  std::byte* data() const { return bytes_.get(); }
  size_t size() const { return size_; }
  // [begin, end)
  std::span<std::byte> part(size_t begin, size_t end) const {
    return {bytes_.get() + begin, end - begin};
  }

  // Keeps what fits. `size` > 0. Throws std::bad_alloc, and then nothing has changed.
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
