#include "dataset/tfds/numbers.h"

#include <cstdint>
#include <cstring>
#include <limits>

#include "recordpipe/example/feature_values.h"
#include "recordpipe/image/half.h"

namespace recordpipe::tfds {
namespace {

// How each dtype is made of a float or int64: visit(convert), with convert(value) -> element.
template <class Visit>
void with_float_cast(TensorType type, Visit visit) {
  switch (type) {
    case TensorType::float64:
      return visit([](float v) { return double{v}; });
    case TensorType::float16:
      return visit([](float v) { return to_float16(v); });
    case TensorType::bfloat16:
      return visit([](float v) { return to_bfloat16(v); });
    default:
      return visit([](float v) { return v; });
  }
}

template <class T, class Visit>
void with_integer_cast(Visit visit) {
  visit([](int64_t v) { return static_cast<T>(v); });
}

template <class Visit>
void with_int64_cast(TensorType type, Visit visit) {
  switch (type) {
    case TensorType::boolean:
      return visit([](int64_t v) { return uint8_t{v != 0}; });
    case TensorType::int8:
      return with_integer_cast<int8_t>(visit);
    case TensorType::int16:
      return with_integer_cast<int16_t>(visit);
    case TensorType::int32:
      return with_integer_cast<int32_t>(visit);
    case TensorType::uint8:
      return with_integer_cast<uint8_t>(visit);
    case TensorType::uint16:
      return with_integer_cast<uint16_t>(visit);
    case TensorType::uint32:
      return with_integer_cast<uint32_t>(visit);
    case TensorType::uint64:
      return with_integer_cast<uint64_t>(visit);
    default:
      return with_integer_cast<int64_t>(visit);
  }
}

template <FeatureKind kind, class Convert>
void write_as(const FeatureView& feature, std::byte* out, Convert convert) {
  for_each_value<kind>(feature, [&](auto value) {
    const auto converted = convert(value);
    std::memcpy(out, &converted, sizeof converted);
    out += sizeof converted;
  });
}

// `out` is aligned for its type.
template <class From, class Convert>
void cast_as(std::span<const From> values, std::byte* out, Convert convert) {
  auto* const to = reinterpret_cast<decltype(convert(From()))*>(out);
  for (size_t i = 0; i < values.size(); ++i) to[i] = convert(values[i]);
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
  if (is_floating(type)) {
    with_float_cast(
        type, [&](auto convert) { write_as<FeatureKind::floats>(feature, out.data(), convert); });
  } else {
    with_int64_cast(
        type, [&](auto convert) { write_as<FeatureKind::int64s>(feature, out.data(), convert); });
  }
}

void cast_numbers(std::span<const float> values, TensorType type, std::span<std::byte> out) {
  with_float_cast(type, [&](auto convert) { cast_as(values, out.data(), convert); });
}

void cast_numbers(std::span<const int64_t> values, TensorType type, std::span<std::byte> out) {
  with_int64_cast(type, [&](auto convert) { cast_as(values, out.data(), convert); });
}

void write_least(TensorType type, std::span<std::byte> out) {
  switch (type) {
    case TensorType::float32:
      return repeat(std::numeric_limits<float>::lowest(), out);
    case TensorType::float64:  // whose least value TFDS parses as a float
      return repeat(-std::numeric_limits<double>::infinity(), out);
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
