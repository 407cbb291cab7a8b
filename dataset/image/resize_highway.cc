// Resizes with Google Highway (https://github.com/google/highway): vector code, compiled for each
// instruction set and dispatched at run time.
//
// Rows: the values of a pixel are the lanes of a vector. Columns: neighbouring values of a row are.
#include <algorithm>
#include <type_traits>
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

void resize_rows(const BytePass& pass) { resize_rows_portable(pass); }
void resize_columns(const BytePass& pass) { resize_columns_portable(pass); }
void float_rows8(const FloatPass8& pass) { float_rows8_portable(pass); }
void float_rows16(const FloatPass16& pass) { float_rows16_portable(pass); }
void float_columns(const FloatPass& pass) { float_columns_portable(pass); }

#else

namespace hn = hwy::HWY_NAMESPACE;

// Values as those of the sums.
template <class D, class From>
hn::Vec<D> load(D d, const From* from) {
  using Sum = hn::TFromD<D>;
  if constexpr (std::is_same_v<From, Sum>) {
    return hn::LoadU(d, from);
  } else {
    const hn::Rebind<int32_t, D> ints;
    const auto values = hn::PromoteTo(ints, hn::LoadU(hn::Rebind<From, D>(), from));
    if constexpr (std::is_same_v<Sum, float>) {
      return hn::ConvertTo(d, values);
    } else {
      return values;
    }
  }
}

template <class D>
void store(hn::Vec<D> sum, D d, float* to) {
  hn::StoreU(sum, d, to);
}
template <class D>
void store(hn::Vec<D> sum, D, uint8_t* to) {
  const hn::Rebind<uint8_t, D> bytes;
  hn::StoreU(hn::DemoteTo(bytes, hn::ShiftRight<kWeightBits>(sum)), bytes, to);
}

// `row` is followed by a value that may be read.
template <size_t kChannels, bool kPlanar, class From, class To>
void resize_row(const ResizePass<From, To>& pass, const From* row, To* to) {
  using Sum = typename ResizePass<From, To>::Sum;
  const hn::CappedTag<Sum, 4> d;
  const FilterTable& filter = pass.filter;
  const Sum* weight = pass.weights_of(0);
  for (size_t x = 0; x < filter.line.size; ++x) {
    const From* from = row + filter.first[x] * kChannels;
    auto sum = hn::Set(d, pass.kFirstSum);
    for (size_t tap = 0; tap < filter.taps; ++tap, ++weight, from += kChannels) {
      sum = hn::Add(sum, hn::Mul(load(d, from), hn::Set(d, *weight)));
    }
    if constexpr (kPlanar) {
      alignas(16) To lanes[4];
      store(sum, d, lanes);
      for (size_t c = 0; c < kChannels; ++c) to[x + c * pass.to_channel] = lanes[c];
    } else {
      store(sum, d, to + x * kChannels);  // the next pixel overwrites a fourth value
    }
  }
}

template <size_t kChannels, class From, class To>
void resize_all_rows(const ResizePass<From, To>& pass) {
  // A pixel is read as four values: behind the last row, there is not always a value more.
  std::vector<From> last(pass.row_values + 4);
  std::copy_n(pass.from + (pass.rows - 1) * pass.row_values, pass.row_values, last.begin());
  for (size_t y = 0; y < pass.rows; ++y) {
    const From* const row = y + 1 < pass.rows ? pass.from + y * pass.row_values : last.data();
    To* const to = pass.to + y * pass.to_row;
    const bool is_planar = pass.to_pixel == 1;
    is_planar ? resize_row<kChannels, true>(pass, row, to)
              : resize_row<kChannels, false>(pass, row, to);
  }
}

template <class From, class To>
void resize_some_rows(const ResizePass<From, To>& pass,
                      void (*portable)(const ResizePass<From, To>&)) {
  pass.channels == 3   ? resize_all_rows<3>(pass)
  : pass.channels == 4 ? resize_all_rows<4>(pass)
                       : portable(pass);
}

template <class Value>
void resize_all_columns(const ResizePass<Value, Value>& pass) {
  using Sum = typename ResizePass<Value, Value>::Sum;
  const hn::CappedTag<Sum, 16> d;
  const size_t lanes = hn::Lanes(d);
  const FilterTable& filter = pass.filter;
  for (size_t y = 0; y < filter.line.size; ++y) {
    const Value* const from = pass.from + filter.first[y] * pass.row_values;
    const Sum* const weights = pass.weights_of(y);
    Value* const to = pass.to + y * pass.row_values;
    // Two vectors at a time: the additions of one wait for each other.
    for (size_t i = 0; i < pass.row_values; i += 2 * lanes) {
      auto sum = hn::Set(d, pass.kFirstSum);
      auto sum2 = sum;
      const Value* at = from + i;
      for (size_t tap = 0; tap < filter.taps; ++tap, at += pass.row_values) {
        const auto weight = hn::Set(d, weights[tap]);
        sum = hn::Add(sum, hn::Mul(load(d, at), weight));
        sum2 = hn::Add(sum2, hn::Mul(load(d, at + lanes), weight));
      }
      store(sum, d, to + i);
      store(sum2, d, to + i + lanes);
    }
  }
}

void resize_rows(const BytePass& pass) { resize_some_rows(pass, resize_rows_portable); }
void resize_columns(const BytePass& pass) { resize_all_columns(pass); }
void float_rows8(const FloatPass8& pass) { resize_some_rows(pass, float_rows8_portable); }
void float_rows16(const FloatPass16& pass) { resize_some_rows(pass, float_rows16_portable); }
void float_columns(const FloatPass& pass) { resize_all_columns(pass); }

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

void resize_rows_highway(const BytePass& pass) { HWY_DYNAMIC_DISPATCH(resize_rows)(pass); }
void resize_columns_highway(const BytePass& pass) { HWY_DYNAMIC_DISPATCH(resize_columns)(pass); }
void float_rows8_highway(const FloatPass8& pass) { HWY_DYNAMIC_DISPATCH(float_rows8)(pass); }
void float_rows16_highway(const FloatPass16& pass) { HWY_DYNAMIC_DISPATCH(float_rows16)(pass); }
void float_columns_highway(const FloatPass& pass) { HWY_DYNAMIC_DISPATCH(float_columns)(pass); }

}  // namespace recordpipe::internal
#endif
