// GELU and SiLU.
#include <cmath>

#include "trainer/backend/cuda/kernels/kernels.h"
#include "trainer/backend/cuda/kernels/launch.h"

namespace recordpipe::cuda {
namespace {

// GELU's Φ(x) or SiLU's σ(x): the factor of x in y.
RECORDPIPE_HOST_DEVICE float gate(Activation function, float x) {
  constexpr float sqrt_half = 0.70710678f;
  return function == Activation::gelu ? 0.5f * erfcf(-x * sqrt_half) : 1 / (1 + expf(-x));
}

RECORDPIPE_HOST_DEVICE float gate_gradient(Activation function, float x) {
  constexpr float density_at_zero = 0.39894228f;  // of the normal distribution
  if (function == Activation::gelu) return density_at_zero * expf(-0.5f * x * x);
  const float sigma = gate(function, x);
  return sigma * (1 - sigma);
}

template <class T>
struct Activate {
  ActivationWork work;

  RECORDPIPE_HOST_DEVICE void operator()(uint32_t index) const {
    const size_t at = static_cast<size_t>(index) * kLanes<T>;
    Pack<T> pack = load(static_cast<const T*>(work.x) + at);
    for (uint32_t lane = 0; lane < kLanes<T>; ++lane)
      pack.lanes[lane] *= gate(work.function, pack.lanes[lane]);
    store(static_cast<T*>(work.y) + at, pack);
  }
};

template <class T>
struct ActivationGradient {
  ActivationWork work;

  RECORDPIPE_HOST_DEVICE void operator()(uint32_t index) const {
    const size_t at = static_cast<size_t>(index) * kLanes<T>;
    const Pack<T> x = load(static_cast<const T*>(work.x) + at);
    Pack<T> g = load(static_cast<const T*>(work.dy) + at);
    for (uint32_t lane = 0; lane < kLanes<T>; ++lane) {
      const float value = x.lanes[lane];
      g.lanes[lane] *= gate(work.function, value) + value * gate_gradient(work.function, value);
    }
    store_gradient(static_cast<T*>(work.dx) + at, g, work.accumulate);
  }
};

}  // namespace

void activation(Stream stream, const ActivationWork& work) {
  with_element(work.element, [&]<class T>(T*) { for_each(stream, work.packs, Activate<T>{work}); });
}

void activation_gradient(Stream stream, const ActivationWork& work) {
  with_element(work.element,
               [&]<class T>(T*) { for_each(stream, work.packs, ActivationGradient<T>{work}); });
}

}  // namespace recordpipe::cuda
