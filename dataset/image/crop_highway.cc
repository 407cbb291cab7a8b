// Implements the crop with Google Highway (https://github.com/google/highway): vector code,
// compiled for each instruction set and dispatched at run time.
//
// A band of rows that fits in the L1 cache is processed in two steps. Staging: the window's part of
// each channel's row is read, reversed for a flip, masked outside the image, and interleaved, all
// as bytes. Conversion: one sequential pass over the staged bytes through the channel map to the
// dtype of the batch. Only the conversion writes to memory outside the cache.
#include <algorithm>
#include <cstring>

#include "dataset/image/crop_implementations.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dataset/image/crop_highway.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace recordpipe {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128  // a processor without vectors

void write(const CropWindow& window, const ImageFormat& format, const ChannelMap& map,
           std::byte* out) {
  write_window_portable(window, format, map, out);
}

#else

namespace hn = hwy::HWY_NAMESPACE;

#include "dataset/image/crop_highway_values.inc"

using Bytes = hn::CappedTag<uint8_t, 32>;  // 32: a row of CIFAR

// Longer rows (of all channels) are handled by the portable implementation.
constexpr size_t kMaxRowBytes = 8192;
// The size of a band. If bands are short, the reads of one band overlap with the writes of the
// previous band.
constexpr size_t kBandBytes = 1536;
// Whole vectors are stored, up to this many bytes beyond the end of the last row.
constexpr size_t kSlack = ChannelMap::kMaxChannels * 32;
// Images up to this size are prefetched completely, unless the previous crop has prefetched them:
// 48 cache lines for CIFAR.
constexpr size_t kPrefetchBytes = 4096;

// The parameters of the loops below.
struct Plan {
  const CropWindow& window;
  size_t height, width;  // of the window
  size_t padded_width;   // the width, rounded up to whole vectors of bytes
  const uint8_t* keep;   // [padded_width] 0xFF for each output column inside the image, else 0
  int64_t first_byte;    // start of a row's vectors, relative to the image's row
  size_t image_bytes;    // of all channels
};

// Copies padded_width bytes of the image, from byte `begin` on, into `edge`, and returns `edge`.
// For ranges that are partly outside the image; bytes outside are zeros.
HWY_NOINLINE const uint8_t* copy_edge(const Plan& plan, int64_t begin, uint8_t* edge) {
  const auto image_bytes = static_cast<int64_t>(plan.image_bytes);
  const auto padded = static_cast<int64_t>(plan.padded_width);
  const int64_t from = std::clamp<int64_t>(begin, 0, image_bytes);
  const int64_t to = std::clamp<int64_t>(begin + padded, from, image_bytes);
  std::memset(edge, 0, plan.padded_width);
  if (to > from) {
    std::memcpy(edge + (from - begin), plan.window.image + from, static_cast<size_t>(to - from));
  }
  return edge;
}

HWY_INLINE hn::Vec<Bytes> reversed(Bytes d, hn::Vec<Bytes> v) {
  alignas(32) static constexpr uint8_t kOrder[32] = {15, 14, 13, 12, 11, 10, 9,  8,  7,  6,  5,
                                                     4,  3,  2,  1,  0,  15, 14, 13, 12, 11, 10,
                                                     9,  8,  7,  6,  5,  4,  3,  2,  1,  0};
  return hn::ReverseBlocks(d, hn::TableLookupBytes(v, hn::Load(d, kOrder)));
}

template <bool kFlip>
HWY_INLINE hn::Vec<Bytes> load(Bytes d, const Plan& plan, const uint8_t* row, size_t x) {
  const size_t lanes = hn::Lanes(d);
  const auto keep = hn::Load(d, plan.keep + x);
  if constexpr (kFlip) {
    const auto v = hn::LoadU(d, row + plan.padded_width - lanes - x);
    return hn::And(reversed(d, v), keep);
  } else {
    return hn::And(hn::LoadU(d, row + x), keep);
  }
}

// Stages one row of kChannels adjacent planes, interleaved.
template <size_t kChannels, bool kFlip>
HWY_INLINE void stage_row(const Plan& plan, const uint8_t* const* rows, uint8_t* HWY_RESTRICT to) {
  const Bytes d;
  for (size_t x = 0; x < plan.width; x += hn::Lanes(d), to += kChannels * hn::Lanes(d)) {
    const auto v0 = load<kFlip>(d, plan, rows[0], x);
    if constexpr (kChannels == 1) {
      hn::StoreU(v0, d, to);
    } else {
      const auto v1 = load<kFlip>(d, plan, rows[1], x);
      if constexpr (kChannels == 2) {
        hn::StoreInterleaved2(v0, v1, d, to);
      } else {
        const auto v2 = load<kFlip>(d, plan, rows[2], x);
        if constexpr (kChannels == 3) {
          hn::StoreInterleaved3(v0, v1, v2, d, to);
        } else {
          hn::StoreInterleaved4(v0, v1, v2, load<kFlip>(d, plan, rows[3], x), d, to);
        }
      }
    }
  }
}

// Prefetches the bytes of the next image that correspond to row y. The prefetches are spread over
// the rows, because a core can have only about ten outstanding cache misses.
HWY_INLINE void fetch_row(const CropWindow& window, size_t plane, size_t y, size_t channels) {
  const size_t row_bytes = channels * window.image_width;
  const uint8_t* const row =
      window.next + plane * window.image_height * window.image_width + y * row_bytes;
  for (size_t i = 0; i < row_bytes; i += 64) hwy::Prefetch(row + i);
}

// Stages rows [begin, end) of kChannels adjacent planes. Vector loads extend into adjacent rows; at
// the ends of the image, they read copies.
template <size_t kChannels, bool kFlip>
void stage_band(const Plan& plan, size_t plane, size_t begin, size_t end, uint8_t* band) {
  alignas(64) uint8_t edges[kMaxRowBytes];
  const CropWindow& window = plan.window;
  const auto image_height = static_cast<int64_t>(window.image_height);
  const auto image_width = static_cast<int64_t>(window.image_width);
  const auto padded = static_cast<int64_t>(plan.padded_width);
  const int64_t last_begin = static_cast<int64_t>(plan.image_bytes) - padded;
  const size_t row_bytes = plan.width * kChannels;
  for (size_t y = begin; y < end; ++y, band += row_bytes) {
    if (window.next) fetch_row(window, plane, y, kChannels);
    const int64_t image_row = static_cast<int64_t>(y) + window.top;
    if (image_row < 0 || image_row >= image_height) {
      std::memset(band, 0, row_bytes);
      continue;
    }
    const uint8_t* rows[kChannels];
    int64_t at =
        (static_cast<int64_t>(plane) * image_height + image_row) * image_width + plan.first_byte;
    for (size_t c = 0; c < kChannels; ++c, at += image_height * image_width) {
      const bool there = at >= 0 && at <= last_begin;
      rows[c] = HWY_LIKELY(there) ? window.image + at
                                  : copy_edge(plan, at, edges + c * plan.padded_width);
    }
    stage_row<kChannels, kFlip>(plan, rows, band);
  }
}

template <size_t kChannels, class T>
void write_planes(const Plan& plan, size_t plane, const ChannelMap& map, T* out) {
  alignas(64) uint8_t band[std::max(kBandBytes, kMaxRowBytes) + kSlack];
  const Pattern pattern(map, plane, kChannels);
  const size_t row_bytes = plan.width * kChannels;
  const size_t band_rows = std::max<size_t>(1, kBandBytes / row_bytes);
  for (size_t y = 0; y < plan.height; y += band_rows) {
    const size_t end = std::min(y + band_rows, plan.height);
    if (plan.window.flip) {
      stage_band<kChannels, true>(plan, plane, y, end, band);
    } else {
      stage_band<kChannels, false>(plan, plane, y, end, band);
    }
    convert<kChannels>(band, (end - y) * row_bytes, pattern, out + y * row_bytes);
  }
}

template <class T>
void write_values(const Plan& plan, const ImageFormat& format, const ChannelMap& map, T* out) {
  if (format.layout == Layout::nchw) {
    const size_t plane_values = format.height * format.width;
    for (size_t c = 0; c < format.channels; ++c) {
      write_planes<1>(plan, c, map, out + c * plane_values);
    }
    return;
  }
  switch (format.channels) {
    case 1:
      return write_planes<1>(plan, 0, map, out);
    case 2:
      return write_planes<2>(plan, 0, map, out);
    case 3:
      return write_planes<3>(plan, 0, map, out);
    case 4:
      return write_planes<4>(plan, 0, map, out);
  }
}

void write(const CropWindow& window, const ImageFormat& format, const ChannelMap& map,
           std::byte* out) {
  const size_t lanes = hn::Lanes(Bytes());
  const size_t padded_width = (format.width + lanes - 1) / lanes * lanes;
  if (format.dtype == DType::uint16 || format.channels > ChannelMap::kMaxChannels ||
      padded_width > kMaxRowBytes / format.channels) {
    return write_window_portable(window, format, map, out);
  }
  alignas(64) uint8_t keep[kMaxRowBytes];
  const auto width = static_cast<int64_t>(format.width);
  const int64_t begin = std::clamp<int64_t>(-window.left, 0, width);
  const int64_t end =
      std::clamp<int64_t>(static_cast<int64_t>(window.image_width) - window.left, begin, width);
  std::memset(keep, 0, padded_width);
  std::memset(keep + (window.flip ? width - end : begin), 0xFF, static_cast<size_t>(end - begin));
  const int64_t spare = window.flip ? static_cast<int64_t>(padded_width) - width : 0;
  const Plan plan = {.window = window,
                     .height = format.height,
                     .width = format.width,
                     .padded_width = padded_width,
                     .keep = keep,
                     .first_byte = window.left - spare,
                     .image_bytes = format.channels * window.image_height * window.image_width};
  if (!window.next && plan.image_bytes <= kPrefetchBytes) {
    for (size_t i = 0; i < plan.image_bytes; i += 64) hwy::Prefetch(window.image + i);
  }
  with_value_type(format.dtype, [&]<class T>(T*) {
    if constexpr (!std::is_same_v<T, uint16_t>) {
      write_values(plan, format, map, reinterpret_cast<T*>(out));
    }
  });
}

#endif

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace recordpipe
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace recordpipe {
namespace {

HWY_EXPORT(write);

}  // namespace

void write_window_highway(const CropWindow& window, const ImageFormat& format,
                          const ChannelMap& map, std::byte* out) {
  HWY_DYNAMIC_DISPATCH(write)(window, format, map, out);
}

}  // namespace recordpipe
#endif
