// Batch norm with the residual sum and ReLU that follow it, in as few passes over memory as
// possible: in training two forward and two backward.
#pragma once

#include <vector>

#include "trainer/backend/cpu/layers/layer.h"

namespace recordpipe {

class CpuBatchNorm final : public CpuLayer {
 public:
  // `residual` may be null.
  CpuBatchNorm(CpuContext& context, const BatchNormOp& op, CpuTensor& input, CpuTensor* residual,
               CpuTensor& output);

  void forward() override;
  void prepare_backward(GradientPool& pool) override;
  void backward() override;
  void update_statistics() override;

 private:
  size_t replicas() const;                         // the processes that share statistics
  void add_up(std::vector<double>& values) const;  // sums over these processes
  void take_batch_statistics();
  void take_moving_statistics();
  float gamma(size_t channel) const;
  void set_scale_and_shift();
  bool keeps_masked_gradient() const;
  void backward_sums();
  void set_gradients();

  CpuContext& context_;
  const BatchNormOp op_;
  CpuTensor& input_;
  CpuTensor* residual_;
  CpuTensor& output_;
  float* gradient_ = nullptr;  // of the input

  std::vector<double> batch_mean_, batch_variance_;  // one value per channel; the variance is
                                                     // unbiased
  std::vector<double> gradient_sums_;                // per channel Σ g, then Σ g · (x - mean)
  // One value per channel, including the padding channels of the last block.
  internal::AlignedVector<float> mean_, inverse_deviation_;  // 1 / sqrt(variance + epsilon)
  internal::AlignedVector<float> scale_, shift_;             // normalisation: x · scale + shift
  internal::AlignedVector<float> a_, b_, c_;                 // the gradient: a · g + b · x + c
  // One value per lane of each plane. These sums are added in plane order, so that the result
  // doesn't depend on the number of threads.
  internal::AlignedVector<float> plane_sums_[2];
};

}  // namespace recordpipe
