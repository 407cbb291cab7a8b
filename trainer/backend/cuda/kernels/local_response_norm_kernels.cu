// Local response normalisation across channels. The channels of a pixel are adjacent in memory.
#include <cmath>

#include "trainer/backend/cuda/kernels/kernels.h"
#include "trainer/backend/cuda/kernels/launch.h"

namespace recordpipe::cuda {
namespace {

// value^exponent of a positive number. NaN stays NaN.
RECORDPIPE_HOST_DEVICE float power(float value, float exponent) {
  return exp2f(exponent * log2f(value));
}

// The neighbouring channels N(c) of the same pixel.
struct Neighbours {
  uint32_t begin, end;

  RECORDPIPE_HOST_DEVICE Neighbours(uint32_t channel, uint32_t channels, uint32_t radius)
      : begin(channel < radius ? 0 : channel - radius),
        end(channels - channel <= radius ? channels : channel + radius + 1) {}
};

template <class T>
struct Forward {
  LocalResponseNorm norm;

  RECORDPIPE_HOST_DEVICE void operator()(uint32_t index) const {
    const uint32_t channel = index % norm.channels;
    const T* pixel = static_cast<const T*>(norm.x) + (index - channel);
    const Neighbours near(channel, norm.channels, norm.radius);
    float squares = 0;
    for (uint32_t n = near.begin; n < near.end; ++n) {
      const float x = widen(pixel[n]);
      squares += x * x;
    }
    const float divisor = norm.bias + norm.alpha * squares;
    norm.divisor[index] = divisor;
    static_cast<T*>(norm.y)[index] = narrow<T>(widen(pixel[channel]) * power(divisor, -norm.beta));
  }
};

template <class T>
struct Backward {
  LocalResponseNorm norm;

  RECORDPIPE_HOST_DEVICE void operator()(uint32_t index) const {
    const uint32_t channel = index % norm.channels;
    const size_t pixel = index - channel;
    const T* x = static_cast<const T*>(norm.x) + pixel;
    const T* dy = static_cast<const T*>(norm.dy) + pixel;
    const float* divisor = norm.divisor + pixel;
    const Neighbours near(channel, norm.channels, norm.radius);
    float sum = 0;
    for (uint32_t n = near.begin; n < near.end; ++n)
      sum += widen(dy[n]) * widen(x[n]) * power(divisor[n], -norm.beta - 1);
    const float dx = widen(dy[channel]) * power(divisor[channel], -norm.beta) -
                     2 * norm.alpha * norm.beta * widen(x[channel]) * sum;
    T& to = static_cast<T*>(norm.dx)[index];
    to = narrow<T>(norm.accumulate ? widen(to) + dx : dx);
  }
};

}  // namespace

void local_response_norm(Stream stream, const LocalResponseNorm& norm) {
  with_element(norm.element,
               [&]<class T>(T*) { for_each(stream, norm.rows * norm.channels, Forward<T>{norm}); });
}

void local_response_norm_gradient(Stream stream, const LocalResponseNorm& norm) {
  with_element(norm.element, [&]<class T>(T*) {
    for_each(stream, norm.rows * norm.channels, Backward<T>{norm});
  });
}

}  // namespace recordpipe::cuda
