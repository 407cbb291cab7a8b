// Implements ImageBatch: its size and typed access to its values.
#include "recordpipe/image/image_batch.h"

#include <string>

#include "recordpipe/base/error.h"

namespace recordpipe {

std::string_view to_string(DType dtype) {
  switch (dtype) {
    case DType::uint8:
      return "uint8";
    case DType::uint16:
      return "uint16";
    case DType::float32:
      return "float32";
    case DType::float16:
      return "float16";
    case DType::bfloat16:
      return "bfloat16";
  }
  return "unknown";
}

std::string_view to_string(Layout layout) { return layout == Layout::nhwc ? "nhwc" : "nchw"; }

std::vector<Parameter> ImageFormat::parameters() const {
  return {{"image",
           std::to_string(height) + "x" + std::to_string(width) + "x" + std::to_string(channels)},
          {"dtype", std::string(to_string(dtype))},
          {"layout", std::string(to_string(layout))}};
}

void ImageBatch::reset(const ImageFormat& format, size_t size) {
  format_ = format;
  data_.resize(size * format.bytes_per_image());
  labels_.resize(size);
}

template <class T>
std::span<const T> ImageBatch::values(DType wanted) const {
  if (format_.dtype != wanted) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "the batch holds " + std::string(to_string(format_.dtype)) +
                           " values, not " + std::string(to_string(wanted))});
  }
  return {reinterpret_cast<const T*>(data_.data()), data_.size() / sizeof(T)};
}

std::span<const float> ImageBatch::floats() const { return values<float>(DType::float32); }

std::span<const uint8_t> ImageBatch::uint8s() const { return values<uint8_t>(DType::uint8); }

std::span<const uint16_t> ImageBatch::uint16s() const { return values<uint16_t>(DType::uint16); }

std::span<const Float16> ImageBatch::float16s() const { return values<Float16>(DType::float16); }

std::span<const BFloat16> ImageBatch::bfloat16s() const {
  return values<BFloat16>(DType::bfloat16);
}

std::span<const std::byte> ImageBatch::bytes() const { return {data_.data(), data_.size()}; }

}  // namespace recordpipe
