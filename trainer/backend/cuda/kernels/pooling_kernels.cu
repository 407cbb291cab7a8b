// Max pooling, the shortcut with average pooling and zero channels, and the global average.
// Gradients are gathered: each one is written by one thread, in a fixed order.
#include "trainer/backend/cuda/kernels/kernels.h"
#include "trainer/backend/cuda/kernels/launch.h"

namespace recordpipe::cuda {
namespace {

// The position of a pack in an image tensor.
struct Place {
  uint32_t image, row, column, channel;

  RECORDPIPE_HOST_DEVICE static Place of(uint32_t index, uint32_t packs, uint32_t lanes,
                                         uint32_t width, uint32_t height) {
    const uint32_t channel = index % packs * lanes;
    const uint32_t pixel = index / packs;
    return {pixel / width / height, pixel / width % height, pixel % width, channel};
  }
};

template <class T>
struct MaxPoolForward {
  MaxPool pool;

  RECORDPIPE_HOST_DEVICE void operator()(uint32_t index) const {
    const Place place =
        Place::of(index, pool.channels / kLanes<T>, kLanes<T>, pool.out_width, pool.out_height);
    Pack<T> greatest = {};
    uint32_t chosen[kLanes<T>] = {};
    bool any = false;
    for (uint32_t r = 0; r < pool.window; ++r)
      for (uint32_t s = 0; s < pool.window; ++s) {
        const uint32_t row = place.row * pool.stride + r - pool.padding_top;  // may wrap around
        const uint32_t column = place.column * pool.stride + s - pool.padding_left;
        if (row >= pool.height || column >= pool.width) continue;
        const size_t pixel =
            (static_cast<size_t>(place.image) * pool.height + row) * pool.width + column;
        const Pack<T> x =
            load(static_cast<const T*>(pool.x) + pixel * pool.channels + place.channel);
        for (uint32_t lane = 0; lane < kLanes<T>; ++lane) {
          const float value = x.lanes[lane];
          if (any && !(value > greatest.lanes[lane]) && value == value) continue;
          greatest.lanes[lane] = value;
          chosen[lane] = r * pool.window + s;
        }
        any = true;
      }
    const size_t at = static_cast<size_t>(index) * kLanes<T>;
    store(static_cast<T*>(pool.y) + at, greatest);
    for (uint32_t lane = 0; lane < kLanes<T>; ++lane)
      pool.chosen[at + lane] = static_cast<uint16_t>(chosen[lane]);
  }
};

// For each x, sums over the windows that chose it.
template <class T>
struct MaxPoolGradient {
  MaxPool pool;

  // The first window that covers row (or column) `at`, counted from the start of the padding.
  RECORDPIPE_HOST_DEVICE uint32_t first_window(uint32_t at) const {
    return at < pool.window ? 0 : (at - pool.window) / pool.stride + 1;
  }

  RECORDPIPE_HOST_DEVICE void operator()(uint32_t index) const {
    const Place place =
        Place::of(index, pool.channels / kLanes<T>, kLanes<T>, pool.width, pool.height);
    const uint32_t row = place.row + pool.padding_top;
    const uint32_t column = place.column + pool.padding_left;
    Pack<T> sum = {};
    for (uint32_t i = first_window(row); i < pool.out_height && i * pool.stride <= row; ++i)
      for (uint32_t j = first_window(column); j < pool.out_width && j * pool.stride <= column;
           ++j) {
        const uint32_t self = (row - i * pool.stride) * pool.window + column - j * pool.stride;
        const size_t pixel =
            (static_cast<size_t>(place.image) * pool.out_height + i) * pool.out_width + j;
        const size_t at = pixel * pool.channels + place.channel;
        const Pack<T> dy = load(static_cast<const T*>(pool.dy) + at);
        for (uint32_t lane = 0; lane < kLanes<T>; ++lane)
          if (pool.chosen[at + lane] == self) sum.lanes[lane] += dy.lanes[lane];
      }
    store_gradient(static_cast<T*>(pool.dx) + static_cast<size_t>(index) * kLanes<T>, sum,
                   pool.accumulate);
  }
};

// One y at a time: channels are shifted by any number, so packs don't align.
template <class T>
struct PoolAndPadForward {
  PoolAndPad pool;

  RECORDPIPE_HOST_DEVICE void operator()(uint32_t index) const {
    const Place place =
        Place::of(index, pool.out_channels, 1, pool.width / pool.stride, pool.height / pool.stride);
    const uint32_t channel = place.channel - pool.first_channel;  // wraps around before the first
    float sum = 0;
    if (channel < pool.real_channels)
      for (uint32_t r = 0; r < pool.stride; ++r)
        for (uint32_t s = 0; s < pool.stride; ++s) {
          const size_t pixel =
              (static_cast<size_t>(place.image) * pool.height + place.row * pool.stride + r) *
                  pool.width +
              place.column * pool.stride + s;
          sum += widen(static_cast<const T*>(pool.x)[pixel * pool.channels + channel]);
        }
    const float share = 1 / static_cast<float>(pool.stride * pool.stride);
    static_cast<T*>(pool.y)[index] = narrow<T>(sum * share);
  }
};

template <class T>
struct PoolAndPadGradient {
  PoolAndPad pool;

  RECORDPIPE_HOST_DEVICE void operator()(uint32_t index) const {
    const Place place = Place::of(index, pool.channels, 1, pool.width, pool.height);
    const uint32_t out_width = pool.width / pool.stride, out_height = pool.height / pool.stride;
    float dx = 0;
    if (place.channel < pool.real_channels) {
      const size_t pixel =
          (static_cast<size_t>(place.image) * out_height + place.row / pool.stride) * out_width +
          place.column / pool.stride;
      const float share = 1 / static_cast<float>(pool.stride * pool.stride);
      dx = share * widen(static_cast<const T*>(
                       pool.dy)[pixel * pool.out_channels + pool.first_channel + place.channel]);
    }
    T& to = static_cast<T*>(pool.dx)[index];
    to = narrow<T>(pool.accumulate ? widen(to) + dx : dx);
  }
};

template <class T>
struct GlobalAveragePoolForward {
  GlobalAveragePool pool;

  RECORDPIPE_HOST_DEVICE void operator()(uint32_t index) const {
    const uint32_t packs = pool.channels / kLanes<T>;
    const uint32_t image = index / packs, channel = index % packs * kLanes<T>;
    const T* x = static_cast<const T*>(pool.x) +
                 static_cast<size_t>(image) * pool.pixels * pool.channels + channel;
    Pack<T> sum = {};
    for (uint32_t pixel = 0; pixel < pool.pixels; ++pixel) {
      const Pack<T> values = load(x + static_cast<size_t>(pixel) * pool.channels);
      for (uint32_t lane = 0; lane < kLanes<T>; ++lane) sum.lanes[lane] += values.lanes[lane];
    }
    for (uint32_t lane = 0; lane < kLanes<T>; ++lane)
      sum.lanes[lane] /= static_cast<float>(pool.pixels);
    store(static_cast<T*>(pool.y) + static_cast<size_t>(index) * kLanes<T>, sum);
  }
};

template <class T>
struct GlobalAveragePoolGradient {
  GlobalAveragePool pool;

  RECORDPIPE_HOST_DEVICE void operator()(uint32_t index) const {
    const uint32_t packs = pool.channels / kLanes<T>;
    const uint32_t image = index / packs / pool.pixels, channel = index % packs * kLanes<T>;
    Pack<T> dx =
        load(static_cast<const T*>(pool.dy) + static_cast<size_t>(image) * pool.channels + channel);
    for (uint32_t lane = 0; lane < kLanes<T>; ++lane)
      dx.lanes[lane] /= static_cast<float>(pool.pixels);
    store_gradient(static_cast<T*>(pool.dx) + static_cast<size_t>(index) * kLanes<T>, dx,
                   pool.accumulate);
  }
};

}  // namespace

void max_pool(Stream stream, const MaxPool& pool) {
  with_element(pool.element, [&]<class T>(T*) {
    for_each(stream, pool.images * pool.out_height * pool.out_width * (pool.channels / kLanes<T>),
             MaxPoolForward<T>{pool});
  });
}

void max_pool_gradient(Stream stream, const MaxPool& pool) {
  with_element(pool.element, [&]<class T>(T*) {
    for_each(stream, pool.images * pool.height * pool.width * (pool.channels / kLanes<T>),
             MaxPoolGradient<T>{pool});
  });
}

void pool_and_pad(Stream stream, const PoolAndPad& pool) {
  with_element(pool.element, [&]<class T>(T*) {
    for_each(
        stream,
        pool.images * (pool.height / pool.stride) * (pool.width / pool.stride) * pool.out_channels,
        PoolAndPadForward<T>{pool});
  });
}

void pool_and_pad_gradient(Stream stream, const PoolAndPad& pool) {
  with_element(pool.element, [&]<class T>(T*) {
    for_each(stream, pool.images * pool.height * pool.width * pool.channels,
             PoolAndPadGradient<T>{pool});
  });
}

void global_average_pool(Stream stream, const GlobalAveragePool& pool) {
  with_element(pool.element, [&]<class T>(T*) {
    for_each(stream, pool.images * (pool.channels / kLanes<T>), GlobalAveragePoolForward<T>{pool});
  });
}

void global_average_pool_gradient(Stream stream, const GlobalAveragePool& pool) {
  with_element(pool.element, [&]<class T>(T*) {
    for_each(stream, pool.images * pool.pixels * (pool.channels / kLanes<T>),
             GlobalAveragePoolGradient<T>{pool});
  });
}

}  // namespace recordpipe::cuda
