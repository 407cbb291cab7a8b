// Trainings that replicas and a single process can do, to be compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "recordpipe/image/image_batch.h"
#include "recordpipe/trainer/backend/backend.h"
#include "recordpipe/trainer/model/network.h"

namespace recordpipe {

// Every `size`-th image of the batch, from the one at `rank`.
ImageBatch share_of(const ImageBatch& batch, size_t rank, size_t size);

// What a training leaves behind.
struct Trained {
  std::vector<double> losses;              // of each step
  std::vector<std::vector<float>> values;  // and averages, of each variable

  bool operator==(const Trained&) const = default;
};

// Four steps of `backend`, with clipped gradients, from the initial values, with batches of
// `batch_size` that `batch_of` gives for each step.
Trained train(Backend& backend, const Network& network, size_t batch_size,
              const std::function<ImageBatch(uint64_t step)>& batch_of);

// The greatest relative error of any variable of `got`, and of the losses. Where only the order of
// sums differs it is up to 1e-6 on one machine; 4e-6 leaves other vector widths some room.
double greatest_error(const Trained& got, const Trained& expected);

}  // namespace recordpipe
