// The two passes of a resize, in plain loops and in vectors. Both compute the same integers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "dataset/image/filter_table.h"
#include "recordpipe/image/resize.h"

namespace recordpipe::internal {

// Vectors may read and write this many values beyond the end of a buffer.
constexpr size_t kResizeSlack = 64;

constexpr int32_t kRounding = int32_t{1} << (kWeightBits - 1);

inline uint8_t rounded(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}
inline float rounded(float sum) { return sum; }

// Rows: filters each row of `from`, pixels of `channels` interleaved values. Value c of pixel x of
// row y of the result is at to[y * to_row + x * to_pixel + c * to_channel]. Exactly rows *
// row_values values of `from` may be read. Columns: filters each column of `from`. Row y of the
// result is at to + y * row_values. kResizeSlack values behind each other buffer may be read and
// written.
//
// Bytes are summed up in fixed point. For floats, the weighted values are added in the order of the
// weights, each operation rounded.
template <class From, class To>
struct ResizePass {
  using Sum = std::conditional_t<std::is_same_v<To, float>, float, int32_t>;
  static constexpr Sum kFirstSum = std::is_same_v<To, float> ? 0 : kRounding;

  const FilterTable& filter;
  const From* from;
  size_t row_values;  // of a row of `from`
  To* to;
  // Of rows only:
  size_t rows = 0;
  size_t channels = 0;
  size_t to_row = 0;
  size_t to_pixel = 0;
  size_t to_channel = 0;

  const Sum* weights_of(size_t i) const {
    if constexpr (std::is_same_v<To, float>) {
      return filter.float_weights.data() + i * filter.taps;
    } else {
      return filter.weights.data() + i * filter.taps;
    }
  }
};

using BytePass = ResizePass<uint8_t, uint8_t>;
using FloatPass8 = ResizePass<uint8_t, float>;
using FloatPass16 = ResizePass<uint16_t, float>;
using FloatPass = ResizePass<float, float>;

void resize_rows_portable(const BytePass& pass);
void resize_columns_portable(const BytePass& pass);
void resize_rows_highway(const BytePass& pass);
void resize_columns_highway(const BytePass& pass);
void float_rows8_portable(const FloatPass8& pass);
void float_rows16_portable(const FloatPass16& pass);
void float_columns_portable(const FloatPass& pass);
void float_rows8_highway(const FloatPass8& pass);
void float_rows16_highway(const FloatPass16& pass);
void float_columns_highway(const FloatPass& pass);

}  // namespace recordpipe::internal
