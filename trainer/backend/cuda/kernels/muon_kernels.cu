// Muon's step, apart from its matrix products.
#include <cmath>

#include "trainer/backend/cuda/kernels/kernels.h"
#include "trainer/backend/cuda/kernels/launch.h"

namespace recordpipe::cuda {
namespace {

struct Direction {
  MuonUpdate update;

  RECORDPIPE_HOST_DEVICE void operator()(uint32_t i) const {
    if (update.loss_scale->overflow) return;
    const float g = update.gradients[i];
    const float velocity = update.momentum * update.momenta[i] + g;
    update.momenta[i] = velocity;
    update.direction[i] = g + update.momentum * velocity;
  }
};

// The sum of the blocks' sums, behind them.
struct TotalSquares {
  double* squares;
  uint32_t blocks;

  RECORDPIPE_HOST_DEVICE void operator()(uint32_t) const {
    double sum = 0;
    for (uint32_t block = 0; block < blocks; ++block) sum += squares[block];
    squares[blocks] = sum;
  }
};

struct Normalize {
  float* values;
  const double* squares;

  RECORDPIPE_HOST_DEVICE void operator()(uint32_t i) const {
    values[i] *= static_cast<float>(1 / (std::sqrt(*squares) + 1e-7));
  }
};

struct Apply {
  MuonUpdate update;
  const double* squares;  // of the values

  RECORDPIPE_HOST_DEVICE void operator()(uint32_t i) const {
    if (update.loss_scale->overflow) return;
    const auto scale = static_cast<float>(std::sqrt(static_cast<double>(update.rows) / *squares));
    update.values[i] = scale * update.values[i] - update.learning_rate * update.direction[i];
  }
};

struct Combine {
  float a, b;
  const float* x;
  float* y;

  RECORDPIPE_HOST_DEVICE void operator()(uint32_t i) const { y[i] = a * x[i] + b * y[i]; }
};

// Returns where the sum is.
const double* total_squares(Stream stream, const MuonUpdate& update, const float* values) {
  const auto blocks = static_cast<uint32_t>(squares_size(update.size));
  sum_squares(stream, update.size, values, update.squares);
  for_each(stream, 1, TotalSquares{update.squares, blocks});
  return update.squares + blocks;
}

}  // namespace

void muon_direction(Stream stream, const MuonUpdate& update) {
  for_each(stream, update.size, Direction{update});
}

void muon_normalize(Stream stream, const MuonUpdate& update) {
  const double* squares = total_squares(stream, update, update.direction);
  for_each(stream, update.size, Normalize{update.direction, squares});
}

void muon_apply(Stream stream, const MuonUpdate& update) {
  const double* squares = total_squares(stream, update, update.values);
  for_each(stream, update.size, Apply{update, squares});
}

void combine(Stream stream, uint32_t size, float a, const float* x, float b, float* y) {
  for_each(stream, size, Combine{a, b, x, y});
}

}  // namespace recordpipe::cuda
