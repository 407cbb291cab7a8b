// Variables::process_gradients() on a GPU. Asynchronous: only norms() waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "recordpipe/trainer/backend/variables.h"
#include "trainer/backend/cuda/device/device.h"
#include "trainer/backend/cuda/kernels/kernels.h"

namespace recordpipe::cuda {

// The range of a variable in the trained buffers; empty if it isn't trained.
struct TrainedRange {
  size_t begin = 0, end = 0;
};

class GradientProcessor {
 public:
  // `ranges` are by VariableId. `device` must outlive this object.
  GradientProcessor(const Device& device, std::span<const TrainedRange> ranges);

  void process(const GradientOptions& options, std::span<const VariableSpec> specs,
               const float* values, float* gradients);
  // The norms of the last process(), by VariableId.
  std::span<const double> norms();

 private:
  const Device& device_;
  GradientWork work_ = {};
  std::vector<GradientTreatment> treatments_;  // the device's current ones
  Buffer pieces_, first_pieces_, device_treatments_, squares_, device_norms_, factors_;
  std::vector<double> norms_;
  bool norms_are_here_ = true;
};

}  // namespace recordpipe::cuda
