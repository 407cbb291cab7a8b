// Bias and ReLU after a convolution or matrix product, in place.
#include "trainer/backend/cuda/kernels/kernels.h"
#include "trainer/backend/cuda/kernels/launch.h"

namespace recordpipe::cuda {
namespace {

template <class T>
struct AddAndRectify {
  BiasRelu layer;

  RECORDPIPE_HOST_DEVICE void operator()(uint32_t index) const {
    const uint32_t channel = index % (layer.channels / kLanes<T>)*kLanes<T>;
    T* y = static_cast<T*>(layer.y) + static_cast<size_t>(index) * kLanes<T>;
    Pack<T> pack = load<T>(y);
    for (uint32_t lane = 0; lane < kLanes<T>; ++lane) {
      if (layer.bias) pack.lanes[lane] += layer.bias[channel + lane];
      if (layer.relu) pack.lanes[lane] = rectify(pack.lanes[lane]);
    }
    store(y, pack);
  }
};

template <class T>
RECORDPIPE_HOST_DEVICE Pack<T> mask_in_place(const BiasRelu& layer, size_t at) {
  T* dy = static_cast<T*>(layer.dy) + at;
  Pack<T> g = load<T>(dy);
  if (layer.relu) {
    const Pack<T> y = load(static_cast<const T*>(layer.y) + at);
    for (uint32_t lane = 0; lane < kLanes<T>; ++lane)
      g.lanes[lane] = masked(g.lanes[lane], y.lanes[lane]);
    store(dy, g);
  }
  return g;
}

template <class T>
struct MaskGradient {
  BiasRelu layer;

  RECORDPIPE_HOST_DEVICE void operator()(uint32_t index) const {
    mask_in_place<T>(layer, static_cast<size_t>(index) * kLanes<T>);
  }
};

// The same, with the sums of blocks of rows in one pass.
template <class T>
struct BlockBiasSums {
  struct Sums {
    float g[kLanes<T>];
  };
  BiasRelu layer;

  RECORDPIPE_HOST_DEVICE void add(Sums& sums, uint32_t row, uint32_t pack) const {
    const Pack<T> g =
        mask_in_place<T>(layer, static_cast<size_t>(row) * layer.channels + pack * kLanes<T>);
    for (uint32_t lane = 0; lane < kLanes<T>; ++lane) sums.g[lane] += g.lanes[lane];
  }
  RECORDPIPE_HOST_DEVICE static void combine(Sums& sums, const Sums& other) {
    for (uint32_t lane = 0; lane < kLanes<T>; ++lane) sums.g[lane] += other.g[lane];
  }
  RECORDPIPE_HOST_DEVICE void store(uint32_t block, uint32_t pack, const Sums& sums) const {
    float* to = layer.partial_sums + static_cast<size_t>(block) * layer.channels + pack * kLanes<T>;
    for (uint32_t lane = 0; lane < kLanes<T>; ++lane) to[lane] = sums.g[lane];
  }
};

struct FinishBiasSums {
  struct Sums {
    double g;
  };
  BiasRelu layer;

  RECORDPIPE_HOST_DEVICE Sums load(uint32_t block, uint32_t channel) const {
    return {layer.partial_sums[static_cast<size_t>(block) * layer.channels + channel]};
  }
  RECORDPIPE_HOST_DEVICE static void combine(Sums& sums, const Sums& other) { sums.g += other.g; }
  RECORDPIPE_HOST_DEVICE void finish(uint32_t channel, const Sums& sums) const {
    const double unscale = layer.loss_scale->inverse;
    layer.dbias[channel] = static_cast<float>(sums.g * unscale);
  }
};

}  // namespace

void bias_relu(Stream stream, const BiasRelu& layer) {
  if (!layer.bias && !layer.relu) return;
  with_element(layer.element, [&]<class T>(T*) {
    for_each(stream, layer.rows * (layer.channels / kLanes<T>), AddAndRectify<T>{layer});
  });
}

void bias_relu_gradient(Stream stream, const BiasRelu& layer) {
  with_element(layer.element, [&]<class T>(T*) {
    const uint32_t packs = layer.channels / kLanes<T>;
    if (layer.dbias) {
      reduce_and_finish(stream, layer.rows, packs, kLanes<T>, BlockBiasSums<T>{layer},
                        FinishBiasSums{layer}, layer.arrived);
    } else if (layer.relu) {
      for_each(stream, layer.rows * packs, MaskGradient<T>{layer});
    }
  });
}

}  // namespace recordpipe::cuda
