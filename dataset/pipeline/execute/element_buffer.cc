#include "dataset/pipeline/execute/element_buffer.h"

#include <new>
#include <utility>

namespace recordpipe::internal {

ElementBuffer::ElementBuffer(ElementBuffer&& other) noexcept
    : ops_(other.ops_),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

ElementBuffer& ElementBuffer::operator=(ElementBuffer&& other) noexcept {
  std::swap(ops_, other.ops_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

void ElementBuffer::grow(size_t size) {
  if (size <= size_) return;
  ElementBuffer grown(*ops_);
  const std::align_val_t alignment{ops_->alignment};
  grown.data_ = static_cast<std::byte*>(::operator new(size * ops_->size, alignment));
  ops_->construct(grown.data_, size);
  grown.size_ = size;
  for (size_t i = 0; i < size_; ++i) ops_->swap(at(i), grown.at(i));
  *this = std::move(grown);
}

void ElementBuffer::release() {
  if (!data_) return;
  ops_->destroy(data_, size_);
  ::operator delete (data_, std::align_val_t{ops_->alignment});
}

uint64_t ElementBuffer::bytes_of_first(size_t count) const {
  return element_bytes(data_, *ops_, count);
}

}  // namespace recordpipe::internal
