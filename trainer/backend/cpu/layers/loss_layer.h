// The loss. A batch has a few thousand logits at most, so the reference implementation is fast
// enough.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/backend/cpu/layers/layer.h"

namespace recordpipe {

class CpuLoss final : public CpuLayer {
 public:
  CpuLoss(const SoftmaxCrossEntropyOp& op, CpuTensor& logits);

  void load(std::span<const int32_t> labels) { labels_.assign(labels.begin(), labels.end()); }
  const BatchResult& result() const { return result_; }

  void forward() override;
  void prepare_backward(GradientPool& pool) override;
  void backward() override {}

 private:
  const double label_smoothing_;
  CpuTensor& logits_;
  internal::AlignedVector<float> gradient_;  // written by forward()
  std::vector<int32_t> labels_;
  BatchResult result_;
};

}  // namespace recordpipe
