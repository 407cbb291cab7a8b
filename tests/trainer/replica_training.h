// Makes training runs that compare replicas with a single process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "recordpipe/image/image_batch.h"
#include "recordpipe/trainer/backend/backend.h"
#include "recordpipe/trainer/model/network.h"

namespace recordpipe {

// Returns every `size`-th image of the batch, starting with image `rank`.
ImageBatch share_of(const ImageBatch& batch, size_t rank, size_t size);

// The result of a training run.
struct Trained {
  std::vector<double> losses;              // of each step
  std::vector<std::vector<float>> values;  // of each variable, and the averages

  bool operator==(const Trained&) const = default;
};

// Makes four steps on `backend`, with clipped gradients, from the initial values. `batch_of` gives
// the batch of `batch_size` images for each step.
Trained train(Backend& backend, const Network& network, size_t batch_size,
              const std::function<ImageBatch(uint64_t step)>& batch_of);

// Returns the largest relative error of the variables and losses in `got`. If only the order of
// sums differs, the error is up to 1e-6 on one machine; 4e-6 leaves a margin for other vector
// widths.
double greatest_error(const Trained& got, const Trained& expected);

}  // namespace recordpipe
