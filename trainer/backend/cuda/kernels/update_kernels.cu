// The optimiser's step, the loss scale, and copies of the weights in another precision.
#include "trainer/backend/cuda/kernels/kernels.h"
#include "trainer/backend/cuda/kernels/launch.h"

namespace recordpipe::cuda {
namespace {

struct Momentum {
  MomentumUpdate update;

  RECORDPIPE_HOST_DEVICE void operator()(uint32_t i) const {
    if (update.loss_scale->overflow) return;
    const float g = update.gradients[i] + update.weight_decay * update.values[i];
    const float velocity = update.momentum * update.momenta[i] + g;
    update.momenta[i] = velocity;
    update.values[i] -=
        update.learning_rate * (update.nesterov ? g + update.momentum * velocity : velocity);
  }
};

struct Average {
  float share;
  const float* values;
  float* averages;

  RECORDPIPE_HOST_DEVICE void operator()(uint32_t i) const {
    averages[i] += share * (values[i] - averages[i]);
  }
};

struct Overflow {
  const float* gradients;
  DeviceLossScale* scale;

  // Benign race: all writers store the same value.
  RECORDPIPE_HOST_DEVICE void operator()(uint32_t i) const {
    if (!(gradients[i] - gradients[i] == 0)) scale->overflow = 1;
  }
};

struct Adapt {
  uint32_t growth_interval;
  DeviceLossScale* scale;

  RECORDPIPE_HOST_DEVICE void operator()(uint32_t) const {
    constexpr float least = 1, most = 1 << 24;
    DeviceLossScale next = *scale;
    if (next.overflow) {
      next = {.scale = next.scale > least ? next.scale / 2 : least};
    } else if (++next.good_steps == growth_interval) {
      next = {.scale = next.scale < most ? next.scale * 2 : most};
    }
    next.inverse = 1 / next.scale;
    *scale = next;
  }
};

template <class T>
struct CopyWeights {
  const float* from;
  T* to;

  RECORDPIPE_HOST_DEVICE void operator()(uint32_t i) const { to[i] = narrow<T>(from[i]); }
};

template <class T>
struct CopyGradients {
  const T* from;
  const DeviceLossScale* scale;
  float* to;

  RECORDPIPE_HOST_DEVICE void operator()(uint32_t i) const {
    to[i] = widen(from[i]) * scale->inverse;
  }
};

struct BlockSquares {
  struct Sums {
    double squares;
  };
  const float* values;
  double* squares;

  RECORDPIPE_HOST_DEVICE void add(Sums& sums, uint32_t row, uint32_t) const {
    const double value = values[row];
    sums.squares += value * value;
  }
  RECORDPIPE_HOST_DEVICE static void combine(Sums& sums, const Sums& other) {
    sums.squares += other.squares;
  }
  RECORDPIPE_HOST_DEVICE void store(uint32_t block, uint32_t, const Sums& sums) const {
    squares[block] = sums.squares;
  }
};

}  // namespace

void update_with_momentum(Stream stream, const MomentumUpdate& update) {
  for_each(stream, update.size, Momentum{update});
}

void update_averages(Stream stream, uint32_t size, float share, const float* values,
                     float* averages) {
  for_each(stream, size, Average{share, values, averages});
}

void find_overflow(Stream stream, const float* gradients, uint32_t size, DeviceLossScale* scale) {
  for_each(stream, size, Overflow{gradients, scale});
}

void adapt_loss_scale(Stream stream, uint32_t growth_interval, DeviceLossScale* scale) {
  for_each(stream, 1, Adapt{growth_interval, scale});
}

void copy_weights(Stream stream, uint32_t size, const float* from, Element element, void* to) {
  with_element(element, [&]<class T>(T*) {
    for_each(stream, size, CopyWeights<T>{from, static_cast<T*>(to)});
  });
}

void copy_gradients(Stream stream, uint32_t size, Element element, const void* from,
                    const DeviceLossScale* scale, float* to) {
  with_element(element, [&]<class T>(T*) {
    for_each(stream, size, CopyGradients<T>{static_cast<const T*>(from), scale, to});
  });
}

size_t squares_size(uint32_t size) { return column_grid(size, 1).blocks_y; }

void sum_squares(Stream stream, uint32_t size, const float* values, double* squares) {
  reduce_columns(stream, size, 1, BlockSquares{values, squares});
}

}  // namespace recordpipe::cuda
