// The images of a batch, scaled and shifted, as [images][channels][height][width].
#pragma once

#include "recordpipe/image/image_batch.h"
#include "trainer/backend/cpu/layers/layer.h"

namespace recordpipe {

class CpuInput final : public CpuLayer {
 public:
  CpuInput(const InputOp& op, CpuTensor& output) : op_(op), output_(output) {}

  // Fills the first batch.size() images.
  void load(const ImageBatch& batch);

  void forward() override {}
  void prepare_backward(GradientPool&) override {}
  void backward() override {}

 private:
  const InputOp op_;
  CpuTensor& output_;
};

}  // namespace recordpipe
