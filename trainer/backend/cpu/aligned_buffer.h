// An owned array of floats, initially zero, aligned for vector loads and large pages.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>

namespace recordpipe {

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(size_t size)
      : data_(static_cast<float*>(::operator new(size * sizeof(float), alignment))), size_(size) {
    std::memset(data_.get(), 0, size * sizeof(float));
  }

  float* data() { return data_.get(); }
  const float* data() const { return data_.get(); }
  size_t size() const { return size_; }
  std::span<float> span() { return {data_.get(), size_}; }
  std::span<const float> span() const { return {data_.get(), size_}; }

 private:
  static constexpr std::align_val_t alignment{64};
  struct Delete {
    void operator()(float* data) const { ::operator delete(data, alignment); }
  };

  std::unique_ptr<float, Delete> data_;
  size_t size_ = 0;
};

}  // namespace recordpipe
