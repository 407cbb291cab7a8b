// Resizes with Google Highway (https://github.com/google/highway): vector code, compiled for each
// instruction set and dispatched at run time.
//
// Rows: the values of a pixel are the lanes of a vector. Columns: neighbouring values of a row are.
#include <algorithm>
#include <cstring>
#include <vector>

#include "dataset/image/resize_implementations.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dataset/image/resize_highway.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace recordpipe::internal {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128  // a processor without vectors

void resize_rows(const ResizePass& pass) { resize_rows_portable(pass); }
void resize_columns(const ResizePass& pass) { resize_columns_portable(pass); }
void float_rows8(const FloatRowsPass<uint8_t>& pass) { float_rows8_portable(pass); }
void float_rows16(const FloatRowsPass<uint16_t>& pass) { float_rows16_portable(pass); }
void float_columns(const FloatColumnsPass& pass) { float_columns_portable(pass); }

#else

namespace hn = hwy::HWY_NAMESPACE;

using Pixel = hn::CappedTag<int32_t, 4>;
using PixelBytes = hn::CappedTag<uint8_t, 4>;

// `row` is followed by a byte that may be read.
template <size_t kChannels, bool kPlanar>
void resize_row(const ResizePass& pass, const uint8_t* row, uint8_t* to) {
  const Pixel d;
  const PixelBytes bytes;
  const FilterTable& filter = pass.filter;
  const int32_t* weight = filter.weights.data();
  for (size_t x = 0; x < filter.line.size; ++x) {
    const uint8_t* from = row + filter.first[x] * kChannels;
    auto sum = hn::Set(d, kRounding);
    for (size_t tap = 0; tap < filter.taps; ++tap, ++weight, from += kChannels) {
      const auto values = hn::PromoteTo(d, hn::LoadU(bytes, from));
      sum = hn::Add(sum, hn::Mul(values, hn::Set(d, *weight)));
    }
    const auto values = hn::DemoteTo(bytes, hn::ShiftRight<kWeightBits>(sum));
    if constexpr (kPlanar) {
      alignas(16) uint8_t lanes[4];
      hn::StoreU(values, bytes, lanes);
      for (size_t c = 0; c < kChannels; ++c) to[x + c * pass.to_channel] = lanes[c];
    } else {
      hn::StoreU(values, bytes, to + x * kChannels);  // the next pixel overwrites a fourth value
    }
  }
}

template <size_t kChannels, bool kPlanar>
void resize_all_rows(const ResizePass& pass) {
  // A pixel is read as four values: behind the last row, there is not always a byte more.
  std::vector<uint8_t> last(pass.row_bytes + kResizeSlack);
  std::memcpy(last.data(), pass.from + (pass.rows - 1) * pass.row_bytes, pass.row_bytes);
  for (size_t y = 0; y < pass.rows; ++y) {
    const uint8_t* const row = y + 1 < pass.rows ? pass.from + y * pass.row_bytes : last.data();
    resize_row<kChannels, kPlanar>(pass, row, pass.to + y * pass.to_row);
  }
}

void resize_rows(const ResizePass& pass) {
  const bool is_planar = pass.to_pixel == 1;
  if (pass.channels == 3) {
    is_planar ? resize_all_rows<3, true>(pass) : resize_all_rows<3, false>(pass);
  } else if (pass.channels == 4) {
    is_planar ? resize_all_rows<4, true>(pass) : resize_all_rows<4, false>(pass);
  } else {
    resize_rows_portable(pass);
  }
}

void resize_columns(const ResizePass& pass) {
  const hn::ScalableTag<int32_t> d;
  const hn::Rebind<uint8_t, decltype(d)> bytes;
  const size_t lanes = hn::Lanes(d);
  const FilterTable& filter = pass.filter;
  for (size_t y = 0; y < filter.line.size; ++y) {
    const uint8_t* const from = pass.from + filter.first[y] * pass.row_bytes;
    const int32_t* const weights = filter.weights_of(y).data();
    uint8_t* const to = pass.to + y * pass.row_bytes;
    // Two vectors at a time: the additions of one wait for each other.
    for (size_t i = 0; i < pass.row_bytes; i += 2 * lanes) {
      auto sum = hn::Set(d, kRounding);
      auto sum2 = sum;
      const uint8_t* at = from + i;
      for (size_t tap = 0; tap < filter.taps; ++tap, at += pass.row_bytes) {
        const auto weight = hn::Set(d, weights[tap]);
        sum = hn::Add(sum, hn::Mul(hn::PromoteTo(d, hn::LoadU(bytes, at)), weight));
        sum2 = hn::Add(sum2, hn::Mul(hn::PromoteTo(d, hn::LoadU(bytes, at + lanes)), weight));
      }
      hn::StoreU(hn::DemoteTo(bytes, hn::ShiftRight<kWeightBits>(sum)), bytes, to + i);
      hn::StoreU(hn::DemoteTo(bytes, hn::ShiftRight<kWeightBits>(sum2)), bytes, to + i + lanes);
    }
  }
}

using FloatPixel = hn::CappedTag<float, 4>;

// `row` is followed by a value that may be read, `to` by kFloatSlack that may be written.
template <size_t kChannels, bool kPlanar, class Value>
void float_row(const FloatRowsPass<Value>& pass, const Value* row, float* to) {
  const FloatPixel d;
  const hn::Rebind<int32_t, FloatPixel> ints;
  const hn::Rebind<Value, FloatPixel> stored;
  const FilterTable& filter = pass.filter;
  const float* weight = filter.float_weights.data();
  for (size_t x = 0; x < filter.line.size; ++x) {
    const Value* from = row + filter.first[x] * kChannels;
    auto sum = hn::Zero(d);
    for (size_t tap = 0; tap < filter.taps; ++tap, ++weight, from += kChannels) {
      const auto values = hn::ConvertTo(d, hn::PromoteTo(ints, hn::LoadU(stored, from)));
      sum = hn::Add(sum, hn::Mul(values, hn::Set(d, *weight)));
    }
    if constexpr (kPlanar) {
      alignas(16) float lanes[4];
      hn::Store(sum, d, lanes);
      for (size_t c = 0; c < kChannels; ++c) to[x + c * pass.to_channel] = lanes[c];
    } else {
      hn::StoreU(sum, d, to + x * kChannels);  // the next pixel overwrites a fourth value
    }
  }
}

template <size_t kChannels, bool kPlanar, class Value>
void all_float_rows(const FloatRowsPass<Value>& pass) {
  // A pixel is read as four values: behind the last row, there is not always a value more.
  std::vector<Value> last(pass.row_values + 4);
  std::copy_n(pass.from + (pass.rows - 1) * pass.row_values, pass.row_values, last.begin());
  for (size_t y = 0; y < pass.rows; ++y) {
    const Value* const row = y + 1 < pass.rows ? pass.from + y * pass.row_values : last.data();
    float_row<kChannels, kPlanar>(pass, row, pass.to + y * pass.to_row);
  }
}

template <class Value>
void float_rows(const FloatRowsPass<Value>& pass) {
  const bool is_planar = pass.to_pixel == 1;
  if (pass.channels == 3) {
    is_planar ? all_float_rows<3, true>(pass) : all_float_rows<3, false>(pass);
  } else if (pass.channels == 4) {
    is_planar ? all_float_rows<4, true>(pass) : all_float_rows<4, false>(pass);
  } else if constexpr (sizeof(Value) == 1) {
    float_rows8_portable(pass);
  } else {
    float_rows16_portable(pass);
  }
}

void float_rows8(const FloatRowsPass<uint8_t>& pass) { float_rows(pass); }
void float_rows16(const FloatRowsPass<uint16_t>& pass) { float_rows(pass); }

void float_columns(const FloatColumnsPass& pass) {
  const hn::CappedTag<float, 16> d;
  const size_t lanes = hn::Lanes(d);
  const FilterTable& filter = pass.filter;
  for (size_t y = 0; y < filter.line.size; ++y) {
    const float* const from = pass.from + filter.first[y] * pass.row_values;
    const float* const weights = filter.float_weights_of(y).data();
    float* const to = pass.to + y * pass.row_values;
    // Two vectors at a time: the additions of one wait for each other.
    for (size_t i = 0; i < pass.row_values; i += 2 * lanes) {
      auto sum = hn::Zero(d);
      auto sum2 = sum;
      const float* at = from + i;
      for (size_t tap = 0; tap < filter.taps; ++tap, at += pass.row_values) {
        const auto weight = hn::Set(d, weights[tap]);
        sum = hn::Add(sum, hn::Mul(hn::LoadU(d, at), weight));
        sum2 = hn::Add(sum2, hn::Mul(hn::LoadU(d, at + lanes), weight));
      }
      hn::StoreU(sum, d, to + i);
      hn::StoreU(sum2, d, to + i + lanes);
    }
  }
}

#endif

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace recordpipe::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace recordpipe::internal {
namespace {

HWY_EXPORT(resize_rows);
HWY_EXPORT(resize_columns);
HWY_EXPORT(float_rows8);
HWY_EXPORT(float_rows16);
HWY_EXPORT(float_columns);

}  // namespace

void resize_rows_highway(const ResizePass& pass) { HWY_DYNAMIC_DISPATCH(resize_rows)(pass); }
void resize_columns_highway(const ResizePass& pass) { HWY_DYNAMIC_DISPATCH(resize_columns)(pass); }
void float_rows8_highway(const FloatRowsPass<uint8_t>& pass) {
  HWY_DYNAMIC_DISPATCH(float_rows8)(pass);
}
void float_rows16_highway(const FloatRowsPass<uint16_t>& pass) {
  HWY_DYNAMIC_DISPATCH(float_rows16)(pass);
}
void float_columns_highway(const FloatColumnsPass& pass) {
  HWY_DYNAMIC_DISPATCH(float_columns)(pass);
}

}  // namespace recordpipe::internal
#endif
