// The two passes of a resize, in plain loops and in vectors. Both compute the same integers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "dataset/image/filter_table.h"
#include "recordpipe/image/resize.h"

namespace recordpipe::internal {

// Vectors may read and write this many bytes beyond the end of a buffer.
constexpr size_t kResizeSlack = 64;

// Rows: filters each row of `from`, pixels of `channels` interleaved values. Value c of pixel x of
// row y of the result is at to[y * to_row + x * to_pixel + c * to_channel]. Exactly rows *
// row_bytes bytes of `from` may be read. Columns: filters each column of `from`. Row y of the
// result is at to + y * row_bytes. kResizeSlack bytes behind each buffer may be read and written.
struct ResizePass {
  const FilterTable& filter;
  const uint8_t* from;
  size_t row_bytes;  // of a row of `from`
  uint8_t* to;
  // Of rows only:
  size_t rows = 0;
  size_t channels = 0;
  size_t to_row = 0;
  size_t to_pixel = 0;
  size_t to_channel = 0;
};

// The same for floats: row_values is the number of values of a row of `from`, and kFloatSlack the
// number of values behind each buffer. Weighted values are added in the order of the weights, each
// operation rounded.
constexpr size_t kFloatSlack = 32;

template <class Value>
struct FloatRowsPass {
  const FilterTable& filter;
  const Value* from;
  size_t row_values;
  float* to;
  size_t rows;
  size_t channels;
  size_t to_row;
  size_t to_pixel;
  size_t to_channel;
};
struct FloatColumnsPass {
  const FilterTable& filter;
  const float* from;
  size_t row_values;
  float* to;
};

constexpr int32_t kRounding = int32_t{1} << (kWeightBits - 1);

inline uint8_t rounded(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

void resize_rows_portable(const ResizePass& pass);
void resize_columns_portable(const ResizePass& pass);
void resize_rows_highway(const ResizePass& pass);
void resize_columns_highway(const ResizePass& pass);
void float_rows8_portable(const FloatRowsPass<uint8_t>& pass);
void float_rows16_portable(const FloatRowsPass<uint16_t>& pass);
void float_columns_portable(const FloatColumnsPass& pass);
void float_rows8_highway(const FloatRowsPass<uint8_t>& pass);
void float_rows16_highway(const FloatRowsPass<uint16_t>& pass);
void float_columns_highway(const FloatColumnsPass& pass);

}  // namespace recordpipe::internal
