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

constexpr int32_t kRounding = int32_t{1} << (kWeightBits - 1);

inline uint8_t rounded(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

void resize_rows_portable(const ResizePass& pass);
void resize_columns_portable(const ResizePass& pass);
void resize_rows_highway(const ResizePass& pass);
void resize_columns_highway(const ResizePass& pass);

}  // namespace recordpipe::internal
