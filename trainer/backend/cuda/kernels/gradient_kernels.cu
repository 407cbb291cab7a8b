// Processing of gradients before an update: decay, multipliers, norms and clipping.
#include <cmath>

#include "trainer/backend/cuda/kernels/kernels.h"
#include "trainer/backend/cuda/kernels/launch.h"

namespace recordpipe::cuda {
namespace {

// One column per piece. Computes the sums of squares in the same pass.
struct DecayAndMultiply {
  struct Sums {
    double squares;
  };
  GradientWork work;

  RECORDPIPE_HOST_DEVICE void add(Sums& sums, uint32_t row, uint32_t piece) const {
    const GradientPiece& part = work.pieces[piece];
    const GradientTreatment& treatment = work.treatments[part.variable];
    const uint32_t i = part.begin + row;
    if (i >= part.end || treatment.frozen) return;
    const float gradient =
        (work.gradients[i] + treatment.weight_decay * work.values[i]) * treatment.multiplier;
    work.gradients[i] = gradient;
    sums.squares += static_cast<double>(gradient) * static_cast<double>(gradient);
  }
  RECORDPIPE_HOST_DEVICE static void combine(Sums& sums, const Sums& other) {
    sums.squares += other.squares;
  }
  RECORDPIPE_HOST_DEVICE void store(uint32_t block, uint32_t piece, const Sums& sums) const {
    work.squares[static_cast<size_t>(block) * work.piece_count + piece] = sums.squares;
  }
};

struct Norm {
  GradientWork work;
  uint32_t blocks;

  RECORDPIPE_HOST_DEVICE void operator()(uint32_t variable) const {
    double squares = 0;
    for (uint32_t block = 0; block < blocks; ++block)
      for (uint32_t piece = work.first_pieces[variable]; piece < work.first_pieces[variable + 1];
           ++piece)
        squares += work.squares[static_cast<size_t>(block) * work.piece_count + piece];
    work.norms[variable] = std::sqrt(squares);
  }
};

// clip_factor() of trainer/include/recordpipe/trainer/backend/variables.h; a limit of 0 means none.
RECORDPIPE_HOST_DEVICE double factor_of(double norm, double limit) {
  if (limit == 0) return 1;
  if (norm - norm != 0) return norm - norm;  // NaN
  return norm > limit ? limit / norm : 1;
}

struct Factors {
  GradientWork work;

  RECORDPIPE_HOST_DEVICE void operator()(uint32_t) const {
    double squares = 0;
    for (uint32_t variable = 0; variable < work.variables; ++variable) {
      const double norm = work.norms[variable];
      const double clipped = norm * factor_of(norm, work.clip_norm);
      squares += clipped * clipped;
    }
    const double of_all = factor_of(std::sqrt(squares), work.clip_global_norm);
    for (uint32_t variable = 0; variable < work.variables; ++variable)
      work.factors[variable] = work.treatments[variable].frozen
                                   ? 1
                                   : factor_of(work.norms[variable], work.clip_norm) * of_all;
  }
};

struct Clip {
  GradientWork work;

  RECORDPIPE_HOST_DEVICE void operator()(uint32_t index) const {
    const GradientPiece& piece = work.pieces[index / kGradientPiece];
    const uint32_t i = piece.begin + index % kGradientPiece;
    const auto factor = static_cast<float>(work.factors[piece.variable]);
    if (i < piece.end && factor != 1) work.gradients[i] *= factor;
  }
};

}  // namespace

size_t gradient_squares_size(uint32_t pieces) {
  return pieces == 0 ? 0 : size_t{column_grid(kGradientPiece, pieces).blocks_y} * pieces;
}

void process_gradients(Stream stream, const GradientWork& work) {
  if (work.piece_count == 0) return;
  reduce_columns(stream, kGradientPiece, work.piece_count, DecayAndMultiply{work});
  for_each(stream, work.variables,
           Norm{work, column_grid(kGradientPiece, work.piece_count).blocks_y});
  if (work.clip_norm == 0 && work.clip_global_norm == 0) return;
  for_each(stream, 1, Factors{work});
  for_each(stream, work.piece_count * kGradientPiece, Clip{work});
}

}  // namespace recordpipe::cuda
