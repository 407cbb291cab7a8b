// Variables::process_gradients() on a GPU. Nothing of it waits but the one who asks for the norms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "recordpipe/trainer/backend/variables.h"
#include "trainer/backend/cuda/device.h"
#include "trainer/backend/cuda/kernels.h"

namespace recordpipe::cuda {

// Where a variable lies in the trained buffers; empty where it isn't trained.
struct TrainedRange {
  size_t begin = 0, end = 0;
};

class GradientProcessor {
 public:
  // `ranges` by VariableId. `device` must outlive it.
  GradientProcessor(const Device& device, std::span<const TrainedRange> ranges);

  void process(const GradientOptions& options, std::span<const VariableSpec> specs,
               const float* values, float* gradients);
  // Of the last process(), by VariableId.
  std::span<const double> norms();

 private:
  const Device& device_;
  GradientWork work_ = {};
  std::vector<GradientTreatment> treatments_;  // that the device has
  Buffer pieces_, first_pieces_, device_treatments_, squares_, device_norms_, factors_;
  std::vector<double> norms_;
  bool norms_are_here_ = true;
};

}  // namespace recordpipe::cuda
