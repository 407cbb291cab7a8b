// Batch norm with the residual sum and ReLU that follow it, in as few passes over memory as
// possible: in training two forward and two backward.
#include <algorithm>
#include <cmath>
#include <vector>

#include "recordpipe/base/error.h"
#include "recordpipe/trainer/backend/replicated/communicator.h"
#include "trainer/backend/cpu/kernels/kernels.h"
#include "trainer/backend/cpu/layers/layer.h"

namespace recordpipe {
namespace {

class CpuBatchNorm final : public CpuLayer {
 public:
  CpuBatchNorm(CpuContext& context, const BatchNormOp& op, CpuTensor& input, CpuTensor* residual,
               CpuTensor& output)
      : context_(context), op_(op), input_(input), residual_(residual), output_(output) {
    if (residual && residual->lanes() != input.lanes())
      throw Error({.kind = ErrorKind::unsupported,
                   .reason = "the input images can't be a residual: they have another layout"});
    const size_t channels = output.channel_blocks() * output.lanes();
    for (internal::AlignedVector<float>* buffer :
         {&mean_, &inverse_deviation_, &scale_, &shift_, &a_, &b_, &c_})
      *buffer = internal::AlignedVector<float>(channels);
    batch_mean_.resize(output.shape().channels);
    batch_variance_.resize(output.shape().channels);
    gradient_sums_.resize(2 * output.shape().channels);
    for (internal::AlignedVector<float>& buffer : plane_sums_)
      buffer = internal::AlignedVector<float>(output.planes() * output.lanes());
  }

  void forward() override {
    if (context_.mode == Mode::training)
      take_batch_statistics();
    else
      take_moving_statistics();
    set_scale_and_shift();

    const size_t lanes = input_.lanes(), blocks = input_.channel_blocks();
    const size_t size = input_.plane_size();
#pragma omp parallel for schedule(static)
    for (size_t plane = 0; plane < input_.planes(); ++plane) {
      const size_t channel = plane % blocks * lanes;
      kernels::normalize(lanes, input_.shape().pixels(), input_.output() + plane * size,
                         residual_ ? residual_->output() + plane * size : nullptr,
                         scale_.data() + channel, shift_.data() + channel, op_.relu,
                         output_.output() + plane * size);
    }
  }

  void update_statistics() override {
    const std::span<float> moving_mean = context_.variables.at(op_.moving_mean);
    const std::span<float> moving_variance = context_.variables.at(op_.moving_variance);
    const auto move = [&](float& moving, double batch) {
      moving =
          static_cast<float>(op_.decay * static_cast<double>(moving) + (1 - op_.decay) * batch);
    };
    for (size_t channel = 0; channel < batch_mean_.size(); ++channel) {
      move(moving_mean[channel], batch_mean_[channel]);
      move(moving_variance[channel], batch_variance_[channel]);
    }
  }

  // With a residual, the masked gradient is the residual's, stored in this node's own gradient; the
  // input's gradient gets its own memory. Without, the input's gradient takes over this node's
  // memory.
  void prepare_backward(GradientPool& pool) override {
    std::vector<float*> parts = output_.gradient_parts;
    float* own = parts.front();
    if (residual_ && residual_->needs_gradient) {
      residual_->gradient_parts.push_back(own);
      gradient_ = pool.take(input_.size());
    } else {
      gradient_ = own;
    }
    for (size_t part = 1; part < parts.size(); ++part) pool.give_back(parts[part]);
    input_.gradient_parts.push_back(gradient_);
  }

  void backward() override {
    backward_sums();
    set_gradients();

    const size_t lanes = input_.lanes(), blocks = input_.channel_blocks();
    const float* dy = output_.gradient_parts.front();
#pragma omp parallel for schedule(static)
    for (size_t plane = 0; plane < input_.planes(); ++plane) {
      const size_t channel = plane % blocks * lanes, at = plane * input_.plane_size();
      kernels::ReluMask mask;
      if (op_.relu && !keeps_masked_gradient())
        mask = {scale_.data() + channel, shift_.data() + channel};
      kernels::batch_norm_gradient(lanes, input_.shape().pixels(), input_.output() + at, dy + at,
                                   mask, a_.data() + channel, b_.data() + channel,
                                   c_.data() + channel, gradient_ + at);
    }
  }

 private:
  // The processes that share statistics.
  size_t replicas() const {
    return context_.shared_statistics ? context_.shared_statistics->size() : 1;
  }

  // Sums over these processes.
  void add_up(std::vector<double>& values) const {
    if (context_.shared_statistics)
      context_.shared_statistics->all_reduce_sum(std::span<double>(values));
  }

  void take_batch_statistics() {
    const size_t lanes = input_.lanes(), blocks = input_.channel_blocks();
    const size_t pixels = input_.shape().pixels();
#pragma omp parallel for schedule(static)
    for (size_t plane = 0; plane < input_.planes(); ++plane)
      kernels::moments(lanes, pixels, input_.output() + plane * input_.plane_size(),
                       plane_sums_[0].data() + plane * lanes,
                       plane_sums_[1].data() + plane * lanes);

    const size_t channels = input_.shape().channels;
    const auto of_plane = [&](const internal::AlignedVector<float>& sums, size_t image,
                              size_t channel) {
      const size_t plane = image * blocks + channel / lanes;
      return static_cast<double>(sums.data()[plane * lanes + channel % lanes]);
    };
    const auto images = static_cast<double>(replicas() * input_.images());
    for (size_t channel = 0; channel < channels; ++channel) {
      batch_mean_[channel] = 0;
      for (size_t image = 0; image < input_.images(); ++image)
        batch_mean_[channel] += of_plane(plane_sums_[0], image, channel);
    }
    add_up(batch_mean_);
    // A plane's Σ (x - its mean)², plus the term for the difference between its mean and the total
    // mean.
    for (size_t channel = 0; channel < channels; ++channel) {
      batch_mean_[channel] /= images;
      batch_variance_[channel] = 0;
      for (size_t image = 0; image < input_.images(); ++image) {
        const double off = of_plane(plane_sums_[0], image, channel) - batch_mean_[channel];
        batch_variance_[channel] +=
            of_plane(plane_sums_[1], image, channel) + off * off * static_cast<double>(pixels);
      }
    }
    add_up(batch_variance_);
    const double n = images * static_cast<double>(pixels);
    for (size_t channel = 0; channel < channels; ++channel) {
      const double squares = batch_variance_[channel];
      mean_.data()[channel] = static_cast<float>(batch_mean_[channel]);
      inverse_deviation_.data()[channel] =
          static_cast<float>(1 / std::sqrt(squares / n + op_.epsilon));
      batch_variance_[channel] = squares / std::max(n - 1, 1.0);
    }
  }

  void take_moving_statistics() {
    const std::span<const float> mean = context_.variables.at(op_.moving_mean);
    const std::span<const float> variance = context_.variables.at(op_.moving_variance);
    for (size_t channel = 0; channel < mean.size(); ++channel) {
      mean_.data()[channel] = mean[channel];
      inverse_deviation_.data()[channel] =
          1 / std::sqrt(variance[channel] + static_cast<float>(op_.epsilon));
    }
  }

  float gamma(size_t channel) const {
    return op_.gamma ? context_.variables.at(*op_.gamma)[channel] : 1;
  }

  void set_scale_and_shift() {
    const std::span<const float> beta = context_.variables.at(op_.beta);
    for (size_t channel = 0; channel < beta.size(); ++channel) {
      const float scale = gamma(channel) * inverse_deviation_.data()[channel];
      scale_.data()[channel] = scale;
      shift_.data()[channel] = beta[channel] - mean_.data()[channel] * scale;
    }
  }

  // If it is also the residual's gradient, or the sum of two parts, which are then read only once.
  bool keeps_masked_gradient() const { return residual_ || output_.gradient_parts.size() == 2; }

  void backward_sums() {
    const size_t lanes = input_.lanes(), blocks = input_.channel_blocks();
    const size_t pixels = input_.shape().pixels();
    const std::vector<float*>& parts = output_.gradient_parts;
    if (parts.size() > 2) output_.sum_gradient();
    float* dy = parts.front();
    const float* dy_b = parts.size() == 2 ? parts[1] : nullptr;
#pragma omp parallel for schedule(static)
    for (size_t plane = 0; plane < input_.planes(); ++plane) {
      const size_t channel = plane % blocks * lanes, at = plane * input_.plane_size();
      float* sum_g = plane_sums_[0].data() + plane * lanes;
      float* sum_gx = plane_sums_[1].data() + plane * lanes;
      if (keeps_masked_gradient()) {
        kernels::masked_gradient_sums(lanes, pixels, input_.output() + at, mean_.data() + channel,
                                      dy + at, dy_b ? dy_b + at : nullptr, output_.output() + at,
                                      op_.relu, dy + at, sum_g, sum_gx);
      } else {
        kernels::ReluMask mask;
        if (op_.relu) mask = {scale_.data() + channel, shift_.data() + channel};
        kernels::gradient_sums(lanes, pixels, input_.output() + at, mean_.data() + channel, dy + at,
                               mask, sum_g, sum_gx);
      }
    }
  }

  // With d = 1 / sqrt(variance + epsilon) and x̂ = (x - mean) · d:
  //   dx = gamma · d · (g - Σg / n - x̂ · Σ(g · x̂) / n)
  //      = [gamma · d] · g + [-gamma · d³ · Σ(g · (x - mean)) / n] · x + the constant rest
  void set_gradients() {
    const size_t lanes = input_.lanes(), blocks = input_.channel_blocks();
    const size_t channels = input_.shape().channels;
    const double n = static_cast<double>(replicas() * input_.images() * input_.shape().pixels());
    std::span<float> gamma_gradient;
    if (op_.gamma) gamma_gradient = context_.variables.at(*op_.gamma, Slot::gradient);
    const std::span<float> beta_gradient = context_.variables.at(op_.beta, Slot::gradient);
    for (size_t channel = 0; channel < channels; ++channel) {
      double sum_g = 0, sum_gx = 0;
      for (size_t image = 0; image < input_.images(); ++image) {
        const size_t at = (image * blocks + channel / lanes) * lanes + channel % lanes;
        sum_g += static_cast<double>(plane_sums_[0].data()[at]);
        sum_gx += static_cast<double>(plane_sums_[1].data()[at]);
      }
      beta_gradient[channel] = static_cast<float>(sum_g);
      if (op_.gamma)
        gamma_gradient[channel] =
            static_cast<float>(sum_gx * static_cast<double>(inverse_deviation_.data()[channel]));
      gradient_sums_[channel] = sum_g;
      gradient_sums_[channels + channel] = sum_gx;
    }
    add_up(gradient_sums_);
    for (size_t channel = 0; channel < channels; ++channel) {
      const double sum_g = gradient_sums_[channel], sum_gx = gradient_sums_[channels + channel];
      const auto d = static_cast<double>(inverse_deviation_.data()[channel]);
      const auto mean = static_cast<double>(mean_.data()[channel]);
      const double a = static_cast<double>(gamma(channel)) * d;
      const double b = -a * d * d * sum_gx / n;
      a_.data()[channel] = static_cast<float>(a);
      b_.data()[channel] = static_cast<float>(b);
      c_.data()[channel] = static_cast<float>(-a * sum_g / n - b * mean);
    }
  }

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

}  // namespace

std::unique_ptr<CpuLayer> make_cpu_layer(CpuContext& context, const BatchNormOp& op,
                                         CpuTensor& input, CpuTensor* residual, CpuTensor& output) {
  return std::make_unique<CpuBatchNorm>(context, op, input, residual, output);
}

}  // namespace recordpipe
