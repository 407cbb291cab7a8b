// y = x · wᵀ + bias by cuBLASLt, one row per image. Inputs and weights use the memory order of the
// input tensor (see variable_layout.h).
#include <optional>

#include "trainer/backend/cuda/layers/bias_relu_part.h"
#include "trainer/backend/cuda/layers/layer.h"
#include "trainer/backend/cuda/libraries/matmul.h"

namespace recordpipe::cuda {
namespace {

class DenseLayer final : public Layer {
 public:
  DenseLayer(const LayerContext& context, const DenseOp& op, Tensor& input, Tensor& output)
      : context_(context),
        input_(input),
        output_(output),
        weights_(context.variables.weights(op.weights)),
        weights_gradient_(context.variables.weights_gradient(op.weights)),
        images_(input.images()),
        in_(input.rows() / images_ * input.channels()),
        out_(output.channels()),
        forward_(context.device, shape(images_, out_, in_, false, true)),
        bias_relu_(context, op.bias, op.relu, output) {}

  void forward() override {
    forward_.run(input_.data(), weights_, output_.data());
    bias_relu_.forward();
  }

  void prepare_backward() override {
    bias_relu_.prepare_backward();
    backward_weights_.emplace(context_.device, shape(out_, in_, images_, true, false));
    if (!input_.needs_gradient()) return;
    accumulate_ = input_.claim_gradient();
    backward_data_.emplace(context_.device, shape(images_, in_, out_, false, false));
  }

  void backward() override {
    bias_relu_.backward();
    backward_weights_->run(output_.gradient(), input_.data(), weights_gradient_);
    if (backward_data_)
      backward_data_->run(output_.gradient(), weights_, input_.gradient(), accumulate_);
  }

 private:
  MatmulShape shape(uint32_t rows, uint32_t columns, uint32_t depth, bool transposed_a,
                    bool transposed_b) const {
    return {.element = input_.element(),
            .tf32 = context_.tf32,
            .rows = rows,
            .columns = columns,
            .depth = depth,
            .transposed_a = transposed_a,
            .transposed_b = transposed_b};
  }

  const LayerContext& context_;
  Tensor& input_;
  Tensor& output_;
  const void* weights_;
  void* weights_gradient_;
  const uint32_t images_, in_, out_;
  Matmul forward_;
  std::optional<Matmul> backward_weights_, backward_data_;
  BiasReluPart bias_relu_;
  bool accumulate_ = false;
};

}  // namespace

std::unique_ptr<Layer> make_layer(const LayerContext& context, const DenseOp& op, Tensor& input,
                                  Tensor& output) {
  return std::make_unique<DenseLayer>(context, op, input, output);
}

}  // namespace recordpipe::cuda
