// Convolution by cuDNN; bias and ReLU by an own kernel.
#include "trainer/backend/cuda/layers/bias_relu_part.h"
#include "trainer/backend/cuda/layers/layer.h"
#include "trainer/backend/cuda/libraries/convolution.h"

namespace recordpipe::cuda {
namespace {

ConvolutionShape shape_of(const LayerContext& context, const Conv2dOp& op, const Tensor& input,
                          const Tensor& output) {
  return {.element = input.element(),
          .tf32 = context.tf32,
          .images = input.images(),
          .in_channels = input.channels(),
          .in_height = static_cast<uint32_t>(input.shape().height),
          .in_width = static_cast<uint32_t>(input.shape().width),
          .out_channels = output.channels(),
          .out_height = static_cast<uint32_t>(output.shape().height),
          .out_width = static_cast<uint32_t>(output.shape().width),
          .kernel = static_cast<uint32_t>(op.kernel),
          .stride = static_cast<uint32_t>(op.stride),
          .padding = static_cast<uint32_t>(op.padding)};
}

class Conv2dLayer final : public Layer {
 public:
  Conv2dLayer(const LayerContext& context, const Conv2dOp& op, Tensor& input, Tensor& output)
      : input_(input),
        output_(output),
        weights_(context.variables.weights(op.weights)),
        weights_gradient_(context.variables.weights_gradient(op.weights)),
        convolution_(context.device, shape_of(context, op, input, output),
                     context.measure_algorithms),
        bias_relu_(context, op.bias, op.relu, output) {
    convolution_.prepare_forward(input_.data(), weights_, output_.data());
  }

  void forward() override {
    convolution_.forward(input_.data(), weights_, output_.data());
    bias_relu_.forward();
  }

  void prepare_backward() override {
    bias_relu_.prepare_backward();
    convolution_.prepare_backward_weights(input_.data(), output_.gradient(), weights_gradient_);
    if (!input_.needs_gradient()) return;
    const bool accumulate = input_.claim_gradient();
    convolution_.prepare_backward_data(weights_, output_.gradient(), input_.gradient(), accumulate);
  }

  void backward() override {
    bias_relu_.backward();
    convolution_.backward_weights(input_.data(), output_.gradient(), weights_gradient_);
    if (input_.needs_gradient())
      convolution_.backward_data(weights_, output_.gradient(), input_.gradient());
  }

 private:
  Tensor& input_;
  Tensor& output_;
  const void* weights_;
  void* weights_gradient_;
  Convolution convolution_;
  BiasReluPart bias_relu_;
};

}  // namespace

std::unique_ptr<Layer> make_layer(const LayerContext& context, const Conv2dOp& op, Tensor& input,
                                  Tensor& output) {
  return std::make_unique<Conv2dLayer>(context, op, input, output);
}

}  // namespace recordpipe::cuda
