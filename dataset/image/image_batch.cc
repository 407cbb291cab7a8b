// ImageBatch: sizes and typed access.
#include "dataset/image/image_batch.h"

#include <string>

#include "dataset/base/error.h"

namespace recordpipe {
namespace {

[[noreturn]] void wrong_dtype(const char* wanted) {
  throw Error({.kind = ErrorKind::invalid_argument,
               .reason = std::string("the batch does not hold ") + wanted + " values"});
}

}  // namespace

void ImageBatch::reset(const ImageFormat& format, size_t size) {
  format_ = format;
  data_.resize(size * format.bytes_per_image());
  labels_.resize(size);
}

std::span<const float> ImageBatch::floats() const {
  if (format_.dtype != DType::float32) wrong_dtype("float32");
  return {reinterpret_cast<const float*>(data_.data()), data_.size() / sizeof(float)};
}

std::span<const uint8_t> ImageBatch::uint8s() const {
  if (format_.dtype != DType::uint8) wrong_dtype("uint8");
  return {reinterpret_cast<const uint8_t*>(data_.data()), data_.size()};
}

std::span<const std::byte> ImageBatch::bytes() const { return {data_.data(), data_.size()}; }

}  // namespace recordpipe
