// Batch norm with the residual sum and ReLU.
#include "trainer/backend/cuda/kernels/kernels.h"
#include "trainer/backend/cuda/layers/layer.h"

namespace recordpipe::cuda {
namespace {

class BatchNormLayer final : public Layer {
 public:
  BatchNormLayer(const LayerContext& context, const BatchNormOp& op, Tensor& input,
                 Tensor* residual, Tensor& output)
      : context_(context), op_(op), input_(input), residual_(residual), output_(output) {
    work_.element = input.element();
    work_.rows = input.rows();
    work_.channels = input.channels();
    work_.real_channels = static_cast<uint32_t>(input.shape().channels);
    work_.relu = op.relu;
    work_.epsilon = op.epsilon;
    work_.x = input.data();
    work_.residual = residual ? residual->data() : nullptr;
    work_.y = output.data();
    const CudaVariables& variables = context.variables;
    const auto new_statistics = [&](VariableId id) {
      return context.new_statistics + (variables.at(id) - variables.statistics());
    };
    if (op.gamma) work_.gamma = variables.at(*op.gamma);
    work_.beta = variables.at(op.beta);
    work_.moving_mean = variables.at(op.moving_mean);
    work_.moving_variance = variables.at(op.moving_variance);
    work_.new_mean = new_statistics(op.moving_mean);
    work_.new_variance = new_statistics(op.moving_variance);
    work_.loss_scale = variables.device_loss_scale();

    constexpr size_t of_channels = 7;
    channel_numbers_ = Buffer(of_channels * work_.channels * sizeof(float));
    float* next = channel_numbers_.as<float>();
    for (float** numbers : {&work_.mean, &work_.inverse_deviation, &work_.scale, &work_.shift,
                            &work_.a, &work_.b, &work_.c}) {
      *numbers = next;
      next += work_.channels;
    }
    if (context.mode == Mode::inference) return;
    partial_sums_ =
        Buffer(partial_sums_size(work_.rows, work_.channels, work_.element, 3) * sizeof(float));
    work_.partial_sums = partial_sums_.as<float>();
    arrived_ = Buffer(arrived_size(work_.channels, work_.element) * sizeof(uint32_t));
    work_.arrived = arrived_.as<uint32_t>();
  }

  void forward() override {
    const Stream stream = context_.device.compute();
    if (context_.mode == Mode::training)
      batch_norm_statistics(stream, work_);
    else
      batch_norm_moving_scale(stream, work_);
    batch_norm_apply(stream, work_);
  }

  // The residual's gradient is written first, because the residual may be the input itself.
  void prepare_backward() override {
    work_.dy = output_.gradient();
    if (op_.gamma) work_.dgamma = context_.variables.at(*op_.gamma, Slot::gradient);
    work_.dbeta = context_.variables.at(op_.beta, Slot::gradient);
    if (residual_ && residual_->needs_gradient()) {
      work_.accumulate_dresidual = residual_->claim_gradient();
      work_.dresidual = residual_->gradient();
    }
    if (!input_.needs_gradient()) return;
    work_.accumulate_dx = input_.claim_gradient();
    work_.dx = input_.gradient();
  }

  void backward() override {
    const Stream stream = context_.device.compute();
    batch_norm_gradient_sums(stream, work_);
    if (work_.dx) batch_norm_gradient(stream, work_);
  }

 private:
  const LayerContext& context_;
  const BatchNormOp op_;
  Tensor& input_;
  Tensor* residual_;
  Tensor& output_;
  BatchNorm work_ = {};
  Buffer channel_numbers_;
  Buffer partial_sums_;
  Buffer arrived_;
};

}  // namespace

std::unique_ptr<Layer> make_layer(const LayerContext& context, const BatchNormOp& op, Tensor& input,
                                  Tensor* residual, Tensor& output) {
  return std::make_unique<BatchNormLayer>(context, op, input, residual, output);
}

}  // namespace recordpipe::cuda
