// Holds a batch of images and labels in one reusable buffer. ImageBatch is the element type of
// image pipelines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "recordpipe/base/internal/aligned_allocator.h"
#include "recordpipe/base/parameter.h"
#include "recordpipe/image/half.h"

namespace recordpipe {

enum class DType { uint8, uint16, float32, float16, bfloat16 };
enum class Layout { nhwc, nchw };
std::string_view to_string(DType dtype);    // "uint8", ...
std::string_view to_string(Layout layout);  // "nhwc", "nchw"

constexpr size_t size_of(DType dtype) {
  return dtype == DType::uint8 ? 1 : dtype == DType::float32 ? 4 : 2;
}

// The memory format of the images of a batch. Values are exactly 0..255 in every dtype, unless they
// are normalised, or were decoded to 16 bits (0..65535).
struct ImageFormat {
  size_t height = 32;
  size_t width = 32;
  size_t channels = 3;
  DType dtype = DType::float32;
  Layout layout = Layout::nhwc;

  size_t values_per_image() const { return height * width * channels; }
  size_t bytes_per_image() const { return values_per_image() * size_of(dtype); }
  // For example image=32x32x3, dtype=float32, layout=nhwc.
  std::vector<Parameter> parameters() const;
  bool operator==(const ImageFormat&) const = default;
};

class ImageBatch {
 public:
  ImageBatch() = default;

  // Resizes the batch to `size` images of `format`. Reuses memory; the content is unspecified.
  void reset(const ImageFormat& format, size_t size);

  size_t size() const { return labels_.size(); }
  const ImageFormat& format() const { return format_; }

  // Return all images, [size, height, width, channels] or [size, channels, height, width],
  // row-major. Only the function of the batch's dtype may be called; the other functions throw
  // Error{invalid_argument}.
  std::span<const float> floats() const;
  std::span<const uint8_t> uint8s() const;
  std::span<const uint16_t> uint16s() const;
  std::span<const Float16> float16s() const;
  std::span<const BFloat16> bfloat16s() const;
  // The same values as bytes, for any dtype.
  std::span<const std::byte> bytes() const;
  std::span<const int32_t> labels() const { return labels_; }

  // The bytes_per_image() bytes of image `row`. The whole buffer is 64-byte aligned.
  std::byte* image_at(size_t row) { return data_.data() + row * format_.bytes_per_image(); }
  // Exchanges the memory of all images, which has the size that reset() gave it: to give it away
  // without a copy, or to use other memory again.
  void exchange_bytes(internal::AlignedVector<std::byte>& bytes) noexcept { data_.swap(bytes); }
  void set_label(size_t row, int32_t label) { labels_[row] = label; }

 private:
  // Returns all values as T. Throws unless the dtype is `wanted`.
  template <class T>
  std::span<const T> values(DType wanted) const;

  friend uint64_t heap_bytes(const ImageBatch& batch) {
    return batch.data_.capacity() + batch.labels_.capacity() * sizeof(int32_t);
  }

  ImageFormat format_;
  internal::AlignedVector<std::byte> data_;
  std::vector<int32_t> labels_;
};

}  // namespace recordpipe
