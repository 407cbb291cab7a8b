// Batch normalisation (Ioffe and Szegedy 2015), with the residual sum and the ReLU that follow it
// in a residual block.
//
//   x, y, residual  [images][channels][pixels]      everything else  [channels]
//
//   x̂ = (x - mean) / sqrt(variance + epsilon)       y = max(0, gamma · x̂ + beta + residual)
//
// The residual and max(0, ...), which is ReLU, are optional. In training, mean and variance are
// those of a channel's n = images · pixels values in the batch. The moving ones are updated from
// them, with the unbiased variance (n / (n - 1)), as in cuDNN, TensorFlow's fused batch norm and
// PyTorch. In inference the moving ones are used.
//
// With g = dy, but 0 where ReLU gave 0, and sums over the n values of a channel:
//
//   dbeta = Σ g    dgamma = Σ g · x̂    dresidual = g
//   dx = gamma / sqrt(variance + epsilon) · (g - dbeta / n - x̂ · dgamma / n)
//
// The last one is Σ_j gamma · g_j · ∂x̂_j/∂x_i, where mean and variance depend on x_i too:
// ∂x̂_j/∂x_i = (δ_ij - 1/n - x̂_i · x̂_j / n) / sqrt(variance + epsilon).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

namespace recordpipe::reference {

struct BatchNormShape {
  size_t images;
  size_t channels;
  size_t pixels;
  bool relu;
  double epsilon;

  size_t values_per_channel() const { return images * pixels; }
  template <class T>
  T inverse_deviation(T variance) const {
    return 1 / std::sqrt(variance + static_cast<T>(epsilon));
  }
};

// Calls visit(index in x) for all values of a channel.
template <class Visit>
void for_each_of_channel(const BatchNormShape& shape, size_t channel, Visit visit) {
  for (size_t b = 0; b < shape.images; ++b)
    for (size_t p = 0; p < shape.pixels; ++p)
      visit((b * shape.channels + channel) * shape.pixels + p);
}

// The batch's statistics. If several processes share them, the mean is averaged over the processes,
// and then the variance around this mean.
template <class T>
void batch_norm_mean(const BatchNormShape& shape, std::span<const T> x, std::span<T> mean) {
  for (size_t c = 0; c < shape.channels; ++c) {
    T sum = 0;
    for_each_of_channel(shape, c, [&](size_t i) { sum += x[i]; });
    mean[c] = sum / static_cast<T>(shape.values_per_channel());
  }
}

// The biased variance (divided by n).
template <class T>
void batch_norm_variance(const BatchNormShape& shape, std::span<const T> x, std::span<const T> mean,
                         std::span<T> variance) {
  for (size_t c = 0; c < shape.channels; ++c) {
    T squares = 0;
    for_each_of_channel(shape, c,
                        [&](size_t i) { squares += (x[i] - mean[c]) * (x[i] - mean[c]); });
    variance[c] = squares / static_cast<T>(shape.values_per_channel());
  }
}

// moving = decay · moving + (1 - decay) · batch's
template <class T>
void batch_norm_update_moving(size_t values_per_channel, double decay, std::span<const T> mean,
                              std::span<const T> variance, std::span<T> moving_mean,
                              std::span<T> moving_variance) {
  const auto n = static_cast<T>(values_per_channel);
  const T unbiased = n / std::max(n - 1, T{1});
  const T keep = static_cast<T>(decay), take = static_cast<T>(1 - decay);
  for (size_t c = 0; c < mean.size(); ++c) {
    moving_mean[c] = keep * moving_mean[c] + take * mean[c];
    moving_variance[c] = keep * moving_variance[c] + take * unbiased * variance[c];
  }
}

// `residual` may be empty.
template <class T>
void batch_norm_forward(const BatchNormShape& shape, std::span<const T> x,
                        std::span<const T> residual, std::span<const T> mean,
                        std::span<const T> variance, std::span<const T> gamma,
                        std::span<const T> beta, std::span<T> y) {
  for (size_t c = 0; c < shape.channels; ++c) {
    const T inverse_deviation = shape.inverse_deviation(variance[c]);
    for_each_of_channel(shape, c, [&](size_t i) {
      const T sum = gamma[c] * ((x[i] - mean[c]) * inverse_deviation) + beta[c] +
                    (residual.empty() ? T{0} : residual[i]);
      y[i] = shape.relu ? std::max(sum, T{0}) : sum;
    });
  }
}

// Adds to dresidual, which may be empty; overwrites dgamma and dbeta.
template <class T>
void batch_norm_backward_parameters(const BatchNormShape& shape, std::span<const T> x,
                                    std::span<const T> y, std::span<const T> dy,
                                    std::span<const T> mean, std::span<const T> variance,
                                    std::span<T> dresidual, std::span<T> dgamma,
                                    std::span<T> dbeta) {
  for (size_t c = 0; c < shape.channels; ++c) {
    const T inverse_deviation = shape.inverse_deviation(variance[c]);
    dbeta[c] = dgamma[c] = 0;
    for_each_of_channel(shape, c, [&](size_t i) {
      const T g = shape.relu && y[i] <= 0 ? T{0} : dy[i];
      dbeta[c] += g;
      dgamma[c] += g * ((x[i] - mean[c]) * inverse_deviation);
      if (!dresidual.empty()) dresidual[i] += g;
    });
  }
}

// Adds to dx. If replicas share statistics, dgamma and dbeta must be the means over the replicas.
template <class T>
void batch_norm_backward_data(const BatchNormShape& shape, std::span<const T> x,
                              std::span<const T> y, std::span<const T> dy, std::span<const T> mean,
                              std::span<const T> variance, std::span<const T> gamma,
                              std::span<const T> dgamma, std::span<const T> dbeta,
                              std::span<T> dx) {
  const T n = static_cast<T>(shape.values_per_channel());
  for (size_t c = 0; c < shape.channels; ++c) {
    const T inverse_deviation = shape.inverse_deviation(variance[c]);
    for_each_of_channel(shape, c, [&](size_t i) {
      const T g = shape.relu && y[i] <= 0 ? T{0} : dy[i];
      const T normalized = (x[i] - mean[c]) * inverse_deviation;
      dx[i] += gamma[c] * inverse_deviation * (g - dbeta[c] / n - normalized * dgamma[c] / n);
    });
  }
}

}  // namespace recordpipe::reference
