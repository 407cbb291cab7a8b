// Resizes in scalar loops.
#include "dataset/image/resize_implementations.h"

namespace recordpipe::internal {
namespace {

template <class From, class To>
void resize_rows(const ResizePass<From, To>& pass) {
  const FilterTable& filter = pass.filter;
  for (size_t y = 0; y < pass.rows; ++y) {
    const From* const row = pass.from + y * pass.row_values;
    for (size_t x = 0; x < filter.line.size; ++x) {
      const auto* const weights = pass.weights_of(x);
      for (size_t c = 0; c < pass.channels; ++c) {
        auto sum = pass.kFirstSum;
        for (size_t tap = 0; tap < filter.taps; ++tap) {
          const From value = row[(filter.first[x] + tap) * pass.channels + c];
          sum += static_cast<decltype(sum)>(value) * weights[tap];
        }
        pass.to[y * pass.to_row + x * pass.to_pixel + c * pass.to_channel] = rounded(sum);
      }
    }
  }
}

template <class Value>
void resize_columns(const ResizePass<Value, Value>& pass) {
  const FilterTable& filter = pass.filter;
  for (size_t y = 0; y < filter.line.size; ++y) {
    const Value* const from = pass.from + filter.first[y] * pass.row_values;
    const auto* const weights = pass.weights_of(y);
    for (size_t i = 0; i < pass.row_values; ++i) {
      auto sum = pass.kFirstSum;
      for (size_t tap = 0; tap < filter.taps; ++tap) {
        sum += from[tap * pass.row_values + i] * weights[tap];
      }
      pass.to[y * pass.row_values + i] = rounded(sum);
    }
  }
}

}  // namespace

void resize_rows_portable(const BytePass& pass) { resize_rows(pass); }
void resize_columns_portable(const BytePass& pass) { resize_columns(pass); }
void float_rows8_portable(const FloatPass8& pass) { resize_rows(pass); }
void float_rows16_portable(const FloatPass16& pass) { resize_rows(pass); }
void float_columns_portable(const FloatPass& pass) { resize_columns(pass); }

}  // namespace recordpipe::internal
