// A queue that allocates nothing once it has reached its maximum length (std::deque allocates and
// frees blocks continually).
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace recordpipe::internal {

template <class T>
class RingBuffer {
 public:
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  T& front() { return slots_[first_]; }
  // The i-th element from the front.
  const T& operator[](size_t i) const { return slots_[(first_ + i) % slots_.size()]; }

  void push_back(T value) { add_back() = std::move(value); }

  // Adds an element, which the caller must overwrite: it still holds the value of an earlier
  // element.
  T& add_back() {
    if (size_ == slots_.size()) {
      std::ranges::rotate(slots_, slots_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
      slots_.resize(std::max<size_t>(8, 2 * size_));
    }
    return slots_[(first_ + size_++) % slots_.size()];
  }

  void pop_front() {
    first_ = (first_ + 1) % slots_.size();
    --size_;
  }

  void clear() { first_ = size_ = 0; }

 private:
  std::vector<T> slots_;
  size_t first_ = 0;
  size_t size_ = 0;
};

}  // namespace recordpipe::internal
