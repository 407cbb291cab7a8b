// Resizes in scalar loops.
#include "dataset/image/resize_implementations.h"

namespace recordpipe::internal {

void resize_rows_portable(const ResizePass& pass) {
  const FilterTable& filter = pass.filter;
  for (size_t y = 0; y < pass.rows; ++y) {
    const uint8_t* const row = pass.from + y * pass.row_bytes;
    for (size_t x = 0; x < filter.line.size; ++x) {
      const auto weights = filter.weights_of(x);
      for (size_t c = 0; c < pass.channels; ++c) {
        int32_t sum = kRounding;
        for (size_t tap = 0; tap < weights.size(); ++tap) {
          sum += row[(filter.first[x] + tap) * pass.channels + c] * weights[tap];
        }
        pass.to[y * pass.to_row + x * pass.to_pixel + c * pass.to_channel] = rounded(sum);
      }
    }
  }
}

void resize_columns_portable(const ResizePass& pass) {
  const FilterTable& filter = pass.filter;
  for (size_t y = 0; y < filter.line.size; ++y) {
    const uint8_t* const from = pass.from + filter.first[y] * pass.row_bytes;
    const auto weights = filter.weights_of(y);
    for (size_t i = 0; i < pass.row_bytes; ++i) {
      int32_t sum = kRounding;
      for (size_t tap = 0; tap < weights.size(); ++tap) {
        sum += from[tap * pass.row_bytes + i] * weights[tap];
      }
      pass.to[y * pass.row_bytes + i] = rounded(sum);
    }
  }
}

namespace {

template <class Value>
void float_rows(const FloatRowsPass<Value>& pass) {
  const FilterTable& filter = pass.filter;
  for (size_t y = 0; y < pass.rows; ++y) {
    const Value* const row = pass.from + y * pass.row_values;
    for (size_t x = 0; x < filter.line.size; ++x) {
      const auto weights = filter.float_weights_of(x);
      for (size_t c = 0; c < pass.channels; ++c) {
        float sum = 0;
        for (size_t tap = 0; tap < weights.size(); ++tap) {
          const Value value = row[(filter.first[x] + tap) * pass.channels + c];
          sum += static_cast<float>(value) * weights[tap];
        }
        pass.to[y * pass.to_row + x * pass.to_pixel + c * pass.to_channel] = sum;
      }
    }
  }
}

}  // namespace

void float_rows8_portable(const FloatRowsPass<uint8_t>& pass) { float_rows(pass); }
void float_rows16_portable(const FloatRowsPass<uint16_t>& pass) { float_rows(pass); }

void float_columns_portable(const FloatColumnsPass& pass) {
  const FilterTable& filter = pass.filter;
  for (size_t y = 0; y < filter.line.size; ++y) {
    const float* const from = pass.from + filter.first[y] * pass.row_values;
    const auto weights = filter.float_weights_of(y);
    for (size_t i = 0; i < pass.row_values; ++i) {
      float sum = 0;
      for (size_t tap = 0; tap < weights.size(); ++tap) {
        sum += from[tap * pass.row_values + i] * weights[tap];
      }
      pass.to[y * pass.row_values + i] = sum;
    }
  }
}

}  // namespace recordpipe::internal
