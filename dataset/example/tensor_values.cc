#include "dataset/example/tensor_values.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "dataset/base/names_in_words.h"
#include "recordpipe/base/error.h"
#include "recordpipe/example/tensor_proto.h"

namespace recordpipe {
namespace {

// Of the number whose bytes an encoding may reverse: complex numbers consist of two.
size_t number_bytes(TensorType type) {
  const bool is_complex = type == TensorType::complex64 || type == TensorType::complex128;
  return size_of(type) / (is_complex ? 2 : 1);
}

void check_tensor(const WantedFeature& feature, const TensorView& tensor) {
  // A few bytes may describe a repeated value of any number of elements.
  constexpr size_t kMaxRepeatedBytes = size_t{16} << 20;
  const std::span<const size_t> shape = tensor.shape();
  const size_t first = feature.fixed ? 0 : 1;
  const bool fits = tensor.type() == *feature.tensor && shape.size() >= first &&
                    std::ranges::equal(shape.subspan(first), feature.shape);
  if (!fits) {
    const auto text = [](TensorType type, const std::string& of_shape) {
      return std::string(to_string(type)) + of_shape;
    };
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = "a tensor of " + text(tensor.type(), shape_text(shape)) + ", not " +
                           text(*feature.tensor, shape_text(feature.shape, !feature.fixed))});
  }
  if (!feature.fixed && tensor.stored() < tensor.size() &&
      tensor.size() * size_of(tensor.type()) > kMaxRepeatedBytes) {
    throw Error({.kind = ErrorKind::limit_exceeded,
                 .reason = "a tensor of " + shape_text(shape) + " that repeats one value",
                 .hint = "give the schema a fixed shape if the tensor is that large"});
  }
}

std::string begin_of(std::string_view what, const WantedFeature& feature) {
  return std::string(what) + " '" + printable(feature.name) + "'";
}

size_t measure_raw(std::string_view what, const WantedFeature& feature, size_t bytes) {
  const size_t unit = tensor_bytes(feature);
  if (feature.fixed ? bytes == unit : bytes % unit == 0) return bytes / unit;
  const std::string shape =
      std::string(to_string(*feature.tensor)) + shape_text(feature.shape, !feature.fixed);
  throw Error(
      {.kind = ErrorKind::unsupported,
       .reason = begin_of(what, feature) + " holds " + counted(bytes, "byte") + ", not " +
                 (feature.fixed ? std::to_string(unit) : "a multiple of " + std::to_string(unit)) +
                 ", as " + shape + " has"});
}

}  // namespace

size_t tensor_bytes(const WantedFeature& feature) {
  return feature.size * size_of(*feature.tensor);
}

size_t measure_tensor(std::string_view what, const WantedFeature& feature,
                      std::span<const std::byte> value) {
  if (feature.encoding != TensorEncoding::proto) return measure_raw(what, feature, value.size());
  try {
    const TensorView tensor = parse_tensor(value);
    check_tensor(feature, tensor);
    return feature.fixed ? 1 : tensor.shape()[0];
  } catch (const Error& error) {
    std::string reason = begin_of(what, feature) + ": " + error.reason();
    if (error.offset()) reason += " (byte " + std::to_string(*error.offset()) + " of the value)";
    throw Error({.kind = error.kind(), .reason = std::move(reason), .hint = error.hint()});
  }
}

void refuse_tensors(std::string_view what, const WantedFeature& feature, size_t values) {
  const char* const one = feature.encoding == TensorEncoding::proto ? "tensor" : "array";
  throw Error({.kind = ErrorKind::unsupported,
               .reason = begin_of(what, feature) + ": " + std::to_string(values) +
                         " values, not one " + one});
}

void copy_tensor(const WantedFeature& feature, std::span<const std::byte> value,
                 std::span<std::byte> out) {
  if (feature.encoding == TensorEncoding::proto) {
    parse_tensor(value).copy_to(out);
    return;
  }
  if (value.empty()) return;  // memcpy with a null pointer is undefined
  std::memcpy(out.data(), value.data(), value.size());
  const size_t size = number_bytes(*feature.tensor);
  if (feature.encoding == TensorEncoding::little_endian || size == 1) return;
  for (; !out.empty(); out = out.subspan(size)) std::ranges::reverse(out.first(size));
}

}  // namespace recordpipe
