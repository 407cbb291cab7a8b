#include "dataset/tfds/numbers.h"

#include <cstdint>
#include <cstring>
#include <limits>

#include "recordpipe/error.h"
#include "recordpipe/feature_values.h"
#include "recordpipe/image/half.h"

namespace recordpipe::tfds {
namespace {

template <class T, FeatureKind kind, class Convert>
void write_as(const FeatureView& feature, std::byte* out, Convert convert) {
  for_each_value<kind>(feature, [&](auto value) {
    const T converted = convert(value);
    std::memcpy(out, &converted, sizeof converted);
    out += sizeof converted;
  });
}

template <class T>
void write_integers(const FeatureView& feature, std::byte* out) {
  write_as<T, FeatureKind::int64s>(feature, out, [](int64_t v) { return static_cast<T>(v); });
}

template <class T>
void repeat(T value, std::span<std::byte> out) {
  for (size_t at = 0; at + sizeof value <= out.size(); at += sizeof value) {
    std::memcpy(out.data() + at, &value, sizeof value);
  }
}

}  // namespace

bool is_floating(TensorType type) {
  return type == TensorType::float32 || type == TensorType::float64 ||
         type == TensorType::float16 || type == TensorType::bfloat16;
}

FeatureKind kind_of(const std::optional<TensorType>& dtype) {
  if (!dtype) return FeatureKind::bytes;
  return is_floating(*dtype) ? FeatureKind::floats : FeatureKind::int64s;
}

void write_numbers(const FeatureView& feature, TensorType type, std::span<std::byte> out) {
  std::byte* const to = out.data();
  constexpr auto kFloats = FeatureKind::floats;
  switch (type) {
    case TensorType::float32:
      return write_as<float, kFloats>(feature, to, [](float v) { return v; });
    case TensorType::float64:
      return write_as<double, kFloats>(feature, to, [](float v) { return double{v}; });
    case TensorType::float16:
      return write_as<Float16, kFloats>(feature, to, to_float16);
    case TensorType::bfloat16:
      return write_as<BFloat16, kFloats>(feature, to, to_bfloat16);
    case TensorType::boolean:
      return write_as<uint8_t, FeatureKind::int64s>(feature, to,
                                                    [](int64_t v) { return uint8_t{v != 0}; });
    case TensorType::int8:
      return write_integers<int8_t>(feature, to);
    case TensorType::int16:
      return write_integers<int16_t>(feature, to);
    case TensorType::int32:
      return write_integers<int32_t>(feature, to);
    case TensorType::int64:
      return write_integers<int64_t>(feature, to);
    case TensorType::uint8:
      return write_integers<uint8_t>(feature, to);
    case TensorType::uint16:
      return write_integers<uint16_t>(feature, to);
    case TensorType::uint32:
      return write_integers<uint32_t>(feature, to);
    case TensorType::uint64:
      return write_integers<uint64_t>(feature, to);
    case TensorType::complex64:
    case TensorType::complex128:
      break;
  }
  throw Error({.kind = ErrorKind::unsupported, .reason = "complex numbers without an encoding"});
}

void write_least(TensorType type, std::span<std::byte> out) {
  switch (type) {
    case TensorType::float32:
      return repeat(std::numeric_limits<float>::lowest(), out);
    case TensorType::float64:
      return repeat(std::numeric_limits<double>::lowest(), out);
    case TensorType::float16:
      return repeat(uint16_t{0xfbff}, out);
    case TensorType::bfloat16:
      return repeat(uint16_t{0xff7f}, out);
    case TensorType::int8:
      return repeat(std::numeric_limits<int8_t>::min(), out);
    case TensorType::int16:
      return repeat(std::numeric_limits<int16_t>::min(), out);
    case TensorType::int32:
      return repeat(std::numeric_limits<int32_t>::min(), out);
    case TensorType::int64:
      return repeat(std::numeric_limits<int64_t>::min(), out);
    default:
      return repeat(uint8_t{0}, out);
  }
}

}  // namespace recordpipe::tfds
