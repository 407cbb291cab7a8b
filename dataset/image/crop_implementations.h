// The implementations of write_window(). They are compiled without contraction into fused
// multiply-adds, so that they round alike everywhere.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "recordpipe/image/crop_window.h"
#include "recordpipe/image/half.h"

namespace recordpipe {

// Uses scalar loops; supports any number of channels.
void write_window_portable(const CropWindow& window, const ImageFormat& format,
                           const ChannelMap& map, std::byte* out);

// Uses Google Highway: one implementation per instruction set, selected on the first call. Calls
// the portable implementation for more than four channels and for very wide images.
void write_window_highway(const CropWindow& window, const ImageFormat& format,
                          const ChannelMap& map, std::byte* out);

template <class T>
T convert_to(float value) {
  if constexpr (std::is_same_v<T, uint16_t>) {
    return static_cast<T>(std::clamp(value + 0.5f, 0.0f, 65535.0f));
  } else if constexpr (std::is_same_v<T, Float16>) {
    return to_float16(value);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return to_bfloat16(value);
  } else {
    return static_cast<T>(value);
  }
}

// Calls `function` with a null pointer to the type that holds values of `dtype`.
template <class Function>
void with_value_type(DType dtype, Function function) {
  switch (dtype) {
    case DType::uint8:
      return function(static_cast<uint8_t*>(nullptr));
    case DType::uint16:
      return function(static_cast<uint16_t*>(nullptr));
    case DType::float32:
      return function(static_cast<float*>(nullptr));
    case DType::float16:
      return function(static_cast<Float16*>(nullptr));
    case DType::bfloat16:
      return function(static_cast<BFloat16*>(nullptr));
  }
}

}  // namespace recordpipe
