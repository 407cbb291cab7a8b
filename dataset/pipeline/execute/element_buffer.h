// A vector of elements whose type is known only through its ElementOps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "recordpipe/pipeline/internal/element_ops.h"

namespace recordpipe::internal {

// Never shrinks. Addresses of values are stable until the buffer grows, which swaps the values into
// new memory.
class ElementBuffer {
 public:
  explicit ElementBuffer(const ElementOps& ops, size_t size = 0) : ops_(&ops) { grow(size); }
  ~ElementBuffer() { release(); }
  ElementBuffer(ElementBuffer&& other) noexcept;
  ElementBuffer& operator=(ElementBuffer&& other) noexcept;

  // Grows to at least `size` values. If a value's constructor throws, the size is unchanged.
  void grow(size_t size);
  size_t size() const { return size_; }
  void* data() { return data_; }
  void* at(size_t i) { return data_ + i * ops_->size; }
  const void* at(size_t i) const { return data_ + i * ops_->size; }
  const ElementOps& ops() const { return *ops_; }

  // The memory of the values in bytes: the values themselves and the heap memory they own.
  uint64_t bytes() const { return bytes_of_first(size_); }
  uint64_t bytes_of_first(size_t count) const;

 private:
  void release();

  const ElementOps* ops_;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// The address of value `i` of an array.
inline void* element_at(void* first, const ElementOps& ops, size_t i) {
  return static_cast<std::byte*>(first) + i * ops.size;
}
// The memory of `count` values in bytes: the values themselves and the heap memory they own.
inline uint64_t element_bytes(const void* first, const ElementOps& ops, size_t count) {
  return count * ops.size + (ops.heap_bytes ? ops.heap_bytes(first, count) : 0);
}

// Moves a value over an old one: swaps them if the old one may own memory that can be reused;
// otherwise copies the bytes.
inline void move_element(const ElementOps& ops, void* from, void* to) {
  if (ops.heap_bytes) {
    ops.swap(from, to);
  } else if (ops.size == sizeof(uint64_t)) {
    std::memcpy(to, from, sizeof(uint64_t));  // a single instruction, not a call
  } else {
    std::memcpy(to, from, ops.size);
  }
}

}  // namespace recordpipe::internal
