// Batch norm with the residual sum and ReLU that follow it, in as few passes over memory as
// possible: two forward, two backward.
#include <cmath>

#include "trainer/backend/cuda/kernels/kernels.h"
#include "trainer/backend/cuda/kernels/launch.h"

namespace recordpipe::cuda {

size_t partial_sums_size(uint32_t rows, uint32_t channels, Element element, uint32_t fields) {
  const auto packs = static_cast<uint32_t>(channels / lanes_of(element));
  return size_t{column_grid(rows, packs).blocks_y} * fields * channels;
}

size_t arrived_size(uint32_t channels, Element element) {
  return column_groups(static_cast<uint32_t>(channels / lanes_of(element)));
}

namespace {

// The moments of blocks of rows: count, mean and Σ (x - mean)², added by Welford's method and
// combined as by Chan, Golub and LeVeque (1979). Unlike sums of squares, this is accurate for
// values that are close together but far from zero. The fields of the partial sums are mean,
// squares and count.
template <class T>
struct BlockMoments {
  struct Sums {
    float count;
    float mean[kLanes<T>], squares[kLanes<T>];
  };
  const T* x;
  uint32_t channels;
  float* partial_sums;

  RECORDPIPE_HOST_DEVICE void add(Sums& sums, uint32_t row, uint32_t pack) const {
    const Pack<T> values = load(x + static_cast<size_t>(row) * channels + pack * kLanes<T>);
    sums.count += 1;
    const float share = 1 / sums.count;
    for (uint32_t lane = 0; lane < kLanes<T>; ++lane) {
      const float off = values.lanes[lane] - sums.mean[lane];
      sums.mean[lane] += off * share;
      sums.squares[lane] += off * (values.lanes[lane] - sums.mean[lane]);
    }
  }
  RECORDPIPE_HOST_DEVICE static void combine(Sums& sums, const Sums& other) {
    if (other.count == 0) return;
    const float share = other.count / (sums.count + other.count);
    const float weight = sums.count * share;
    for (uint32_t lane = 0; lane < kLanes<T>; ++lane) {
      const float off = other.mean[lane] - sums.mean[lane];
      sums.mean[lane] += off * share;
      sums.squares[lane] += other.squares[lane] + off * off * weight;
    }
    sums.count += other.count;
  }
  RECORDPIPE_HOST_DEVICE void store(uint32_t block, uint32_t pack, const Sums& sums) const {
    float* to = partial_sums + static_cast<size_t>(block) * 3 * channels + pack * kLanes<T>;
    for (uint32_t lane = 0; lane < kLanes<T>; ++lane) {
      to[lane] = sums.mean[lane];
      to[channels + lane] = sums.squares[lane];
      to[2 * channels + lane] = sums.count;
    }
  }
};

RECORDPIPE_HOST_DEVICE float gamma_of(const BatchNorm& norm, uint32_t channel) {
  return norm.gamma ? norm.gamma[channel] : 1;
}

// Padding channels stay zero whatever epsilon is.
RECORDPIPE_HOST_DEVICE void set_scale_and_shift(const BatchNorm& norm, uint32_t channel, float mean,
                                                float inverse_deviation) {
  const bool real = channel < norm.real_channels;
  const float scale = real ? gamma_of(norm, channel) * inverse_deviation : 0;
  norm.scale[channel] = scale;
  norm.shift[channel] = real ? norm.beta[channel] - mean * scale : 0;
}

// Adds the moments of the blocks about the mean of the first block, which is near enough: in double
// precision nothing that matters is lost, and adding needs no division.
struct FinishMoments {
  struct Sums {
    double count, off, squares;
  };
  BatchNorm norm;

  RECORDPIPE_HOST_DEVICE Sums load(uint32_t block, uint32_t channel) const {
    const float* from = norm.partial_sums + static_cast<size_t>(block) * 3 * norm.channels;
    const double count = from[2 * norm.channels + channel];
    const double off = static_cast<double>(from[channel]) - norm.partial_sums[channel];
    return {count, count * off, from[norm.channels + channel] + count * off * off};
  }
  RECORDPIPE_HOST_DEVICE static void combine(Sums& sums, const Sums& other) {
    sums.count += other.count;
    sums.off += other.off;
    sums.squares += other.squares;
  }
  RECORDPIPE_HOST_DEVICE void finish(uint32_t channel, const Sums& sums) const {
    const double n = sums.count, off = sums.off / n;
    const double squares = sums.squares - sums.off * off;
    const auto mean = static_cast<float>(norm.partial_sums[channel] + off);
    const auto inverse_deviation = static_cast<float>(1 / std::sqrt(squares / n + norm.epsilon));
    norm.mean[channel] = mean;
    norm.inverse_deviation[channel] = inverse_deviation;
    set_scale_and_shift(norm, channel, mean, inverse_deviation);
    norm.new_mean[channel] = mean;
    norm.new_variance[channel] = static_cast<float>(squares / (n > 2 ? n - 1 : 1));
  }
};

struct Move {
  double decay;
  const float* batch;
  float* moving;

  RECORDPIPE_HOST_DEVICE void operator()(uint32_t i) const {
    moving[i] = static_cast<float>(decay * static_cast<double>(moving[i]) +
                                   (1 - decay) * static_cast<double>(batch[i]));
  }
};

struct MovingScale {
  BatchNorm norm;

  RECORDPIPE_HOST_DEVICE void operator()(uint32_t channel) const {
    const float deviation =
        std::sqrt(norm.moving_variance[channel] + static_cast<float>(norm.epsilon));
    set_scale_and_shift(norm, channel, norm.moving_mean[channel], 1 / deviation);
  }
};

// x · scale + shift
template <class T>
RECORDPIPE_HOST_DEVICE Pack<T> normalized(const BatchNorm& norm, uint32_t channel, Pack<T> x) {
  for (uint32_t lane = 0; lane < kLanes<T>; ++lane)
    x.lanes[lane] = x.lanes[lane] * norm.scale[channel + lane] + norm.shift[channel + lane];
  return x;
}

template <class T>
struct Apply {
  BatchNorm norm;

  RECORDPIPE_HOST_DEVICE void operator()(uint32_t index) const {
    const uint32_t channel = index % (norm.channels / kLanes<T>)*kLanes<T>;
    const size_t at = static_cast<size_t>(index) * kLanes<T>;
    Pack<T> pack = normalized<T>(norm, channel, load(static_cast<const T*>(norm.x) + at));
    if (norm.residual) {
      const Pack<T> residual = load(static_cast<const T*>(norm.residual) + at);
      for (uint32_t lane = 0; lane < kLanes<T>; ++lane) pack.lanes[lane] += residual.lanes[lane];
    }
    if (norm.relu)
      for (uint32_t lane = 0; lane < kLanes<T>; ++lane)
        pack.lanes[lane] = rectify(pack.lanes[lane]);
    store(static_cast<T*>(norm.y) + at, pack);
  }
};

// g: the gradient before ReLU. Without a residual, the ReLU's input is recomputed from x, which is
// read anyway.
template <class T>
RECORDPIPE_HOST_DEVICE Pack<T> masked_gradient(const BatchNorm& norm, size_t at, uint32_t channel,
                                               const Pack<T>& x) {
  Pack<T> g = load(static_cast<const T*>(norm.dy) + at);
  if (norm.relu) {
    const Pack<T> y =
        norm.residual ? load(static_cast<const T*>(norm.y) + at) : normalized<T>(norm, channel, x);
    for (uint32_t lane = 0; lane < kLanes<T>; ++lane)
      g.lanes[lane] = masked(g.lanes[lane], y.lanes[lane]);
  }
  return g;
}

// Σ g and Σ g · (x - mean) of blocks of rows. Also writes the residual's gradient.
template <class T>
struct BlockGradientSums {
  struct Sums {
    float g[kLanes<T>], gx[kLanes<T>];
  };
  BatchNorm norm;

  RECORDPIPE_HOST_DEVICE void add(Sums& sums, uint32_t row, uint32_t pack) const {
    const uint32_t channel = pack * kLanes<T>;
    const size_t at = static_cast<size_t>(row) * norm.channels + channel;
    const Pack<T> x = load(static_cast<const T*>(norm.x) + at);
    const Pack<T> g = masked_gradient<T>(norm, at, channel, x);
    for (uint32_t lane = 0; lane < kLanes<T>; ++lane) {
      sums.g[lane] += g.lanes[lane];
      sums.gx[lane] += g.lanes[lane] * (x.lanes[lane] - norm.mean[channel + lane]);
    }
    if (norm.dresidual)
      store_gradient(static_cast<T*>(norm.dresidual) + at, g, norm.accumulate_dresidual);
  }
  RECORDPIPE_HOST_DEVICE static void combine(Sums& sums, const Sums& other) {
    for (uint32_t lane = 0; lane < kLanes<T>; ++lane) {
      sums.g[lane] += other.g[lane];
      sums.gx[lane] += other.gx[lane];
    }
  }
  RECORDPIPE_HOST_DEVICE void store(uint32_t block, uint32_t pack, const Sums& sums) const {
    float* to =
        norm.partial_sums + static_cast<size_t>(block) * 2 * norm.channels + pack * kLanes<T>;
    for (uint32_t lane = 0; lane < kLanes<T>; ++lane) {
      to[lane] = sums.g[lane];
      to[norm.channels + lane] = sums.gx[lane];
    }
  }
};

// With d = 1 / sqrt(variance + epsilon) and x̂ = (x - mean) · d:
//   dx = gamma · d · (g - Σg / n - x̂ · Σ(g · x̂) / n)
//      = [gamma · d] · g + [-gamma · d³ · Σ(g · (x - mean)) / n] · x + the constant rest
struct FinishGradientSums {
  struct Sums {
    double g, gx;
  };
  BatchNorm norm;

  RECORDPIPE_HOST_DEVICE Sums load(uint32_t block, uint32_t channel) const {
    const float* from = norm.partial_sums + static_cast<size_t>(block) * 2 * norm.channels;
    return {from[channel], from[norm.channels + channel]};
  }
  RECORDPIPE_HOST_DEVICE static void combine(Sums& sums, const Sums& other) {
    sums.g += other.g;
    sums.gx += other.gx;
  }
  RECORDPIPE_HOST_DEVICE void finish(uint32_t channel, const Sums& sums) const {
    const bool real = channel < norm.real_channels;
    const double d = real ? norm.inverse_deviation[channel] : 0;
    const double n = norm.rows, mean = norm.mean[channel];
    const double a = static_cast<double>(gamma_of(norm, channel)) * d;
    const double b = -a * d * d * sums.gx / n;
    norm.a[channel] = static_cast<float>(a);
    norm.b[channel] = static_cast<float>(b);
    norm.c[channel] = static_cast<float>(-a * sums.g / n - b * mean);
    const double unscale = norm.loss_scale->inverse;
    norm.dbeta[channel] = static_cast<float>(sums.g * unscale);
    if (norm.dgamma) norm.dgamma[channel] = static_cast<float>(sums.gx * d * unscale);
  }
};

template <class T>
struct Gradient {
  BatchNorm norm;

  RECORDPIPE_HOST_DEVICE void operator()(uint32_t index) const {
    const uint32_t channel = index % (norm.channels / kLanes<T>)*kLanes<T>;
    const size_t at = static_cast<size_t>(index) * kLanes<T>;
    const Pack<T> x = load(static_cast<const T*>(norm.x) + at);
    Pack<T> g = masked_gradient<T>(norm, at, channel, x);
    for (uint32_t lane = 0; lane < kLanes<T>; ++lane)
      g.lanes[lane] = norm.a[channel + lane] * g.lanes[lane] +
                      norm.b[channel + lane] * x.lanes[lane] + norm.c[channel + lane];
    store_gradient(static_cast<T*>(norm.dx) + at, g, norm.accumulate_dx);
  }
};

}  // namespace

void batch_norm_statistics(Stream stream, const BatchNorm& norm) {
  with_element(norm.element, [&]<class T>(T*) {
    const uint32_t packs = norm.channels / kLanes<T>;
    reduce_and_finish(
        stream, norm.rows, packs, kLanes<T>,
        BlockMoments<T>{static_cast<const T*>(norm.x), norm.channels, norm.partial_sums},
        FinishMoments{norm}, norm.arrived);
  });
}

void move_statistics(Stream stream, uint32_t size, double decay, const float* batch,
                     float* moving) {
  for_each(stream, size, Move{decay, batch, moving});
}

void batch_norm_moving_scale(Stream stream, const BatchNorm& norm) {
  for_each(stream, norm.channels, MovingScale{norm});
}

void batch_norm_apply(Stream stream, const BatchNorm& norm) {
  with_element(norm.element, [&]<class T>(T*) {
    for_each(stream, norm.rows * (norm.channels / kLanes<T>), Apply<T>{norm});
  });
}

void batch_norm_gradient_sums(Stream stream, const BatchNorm& norm) {
  with_element(norm.element, [&]<class T>(T*) {
    const uint32_t packs = norm.channels / kLanes<T>;
    reduce_and_finish(stream, norm.rows, packs, kLanes<T>, BlockGradientSums<T>{norm},
                      FinishGradientSums{norm}, norm.arrived);
  });
}

void batch_norm_gradient(Stream stream, const BatchNorm& norm) {
  with_element(norm.element, [&]<class T>(T*) {
    for_each(stream, norm.rows * (norm.channels / kLanes<T>), Gradient<T>{norm});
  });
}

}  // namespace recordpipe::cuda
