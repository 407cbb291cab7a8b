// Implements the crop in scalar loops: clips, converts and interleaves value by value.
#include <algorithm>

#include "dataset/image/crop_implementations.h"

namespace recordpipe {
namespace {

// The window's rows or columns inside the image: window[begin, end) is
// image[begin + shift, end + shift).
struct Inside {
  int64_t begin;
  int64_t end;
};

Inside inside(int64_t shift, size_t window_size, size_t image_size) {
  const auto n = static_cast<int64_t>(window_size);
  const int64_t begin = std::clamp<int64_t>(-shift, 0, n);
  return {begin, std::clamp<int64_t>(static_cast<int64_t>(image_size) - shift, begin, n)};
}

template <class Value>
float mapped(Value value, const ChannelMap& map, size_t channel) {
  const auto x = static_cast<float>(value);
  if (channel >= ChannelMap::kMaxChannels) return x;
  return (x * map.multiply[channel] + map.add[channel]) / map.divide[channel];
}

template <class Value, class T>
void write(const CropWindowOf<Value>& window, const ImageFormat& format, const ChannelMap& map,
           T* out) {
  const auto height = static_cast<int64_t>(format.height);
  const auto width = static_cast<int64_t>(format.width);
  const auto channels = static_cast<int64_t>(format.channels);
  const auto image_height = static_cast<int64_t>(window.image_height);
  const auto image_width = static_cast<int64_t>(window.image_width);
  const bool nchw = format.layout == Layout::nchw;
  // The strides of pixels, rows and channels in `out`.
  const int64_t pixel = nchw ? 1 : channels;
  const int64_t row = width * pixel;
  const int64_t channel = nchw ? height * width : 1;
  const Inside rows = inside(window.top, format.height, window.image_height);
  const Inside columns = inside(window.left, format.width, window.image_width);
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t y = 0; y < height; ++y) {
      T* to = out + c * channel + y * row;
      const bool row_is_inside = y >= rows.begin && y < rows.end;
      const int64_t from = (c * image_height + y + window.top) * image_width + window.left;
      for (int64_t x = 0; x < width; ++x) {
        const bool is_inside = row_is_inside && x >= columns.begin && x < columns.end;
        const Value value = is_inside ? window.image[from + x] : 0;
        to[(window.flip ? width - 1 - x : x) * pixel] =
            convert_to<T>(mapped(value, map, static_cast<size_t>(c)));
      }
    }
  }
}

}  // namespace

void write_window_portable(const CropWindow& window, const ImageFormat& format,
                           const ChannelMap& map, std::byte* out) {
  with_value_type(format.dtype,
                  [&]<class T>(T*) { write(window, format, map, reinterpret_cast<T*>(out)); });
}

void write_window(const CropWindowOf<uint16_t>& window, const ImageFormat& format,
                  const ChannelMap& map, std::byte* out) {
  with_value_type(format.dtype,
                  [&]<class T>(T*) { write(window, format, map, reinterpret_cast<T*>(out)); });
}

void write_window(const CropWindowOf<float>& window, const ImageFormat& format,
                  const ChannelMap& map, std::byte* out) {
  with_value_type(format.dtype,
                  [&]<class T>(T*) { write(window, format, map, reinterpret_cast<T*>(out)); });
}

}  // namespace recordpipe
