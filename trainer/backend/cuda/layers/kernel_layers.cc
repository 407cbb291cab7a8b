// The layers with one kernel forward and one backward: pooling, activations and local
// response normalisation.
#include "recordpipe/base/error.h"
#include "trainer/backend/cuda/kernels/kernels.h"
#include "trainer/backend/cuda/layers/layer.h"

namespace recordpipe::cuda {
namespace {

uint32_t number(size_t value) { return static_cast<uint32_t>(value); }

// `Work` has the members x, y, dy, dx and accumulate.
template <class Work>
class KernelLayer final : public Layer {
 public:
  using Kernel = void (*)(Stream, const Work&);

  KernelLayer(const LayerContext& context, const Work& work, Kernel kernel, Kernel gradient,
              Tensor& input, Tensor& output)
      : device_(context.device),
        work_(work),
        kernel_(kernel),
        gradient_(gradient),
        input_(input),
        output_(output) {
    work_.x = input.data();
    work_.y = output.data();
  }

  // Memory for values that the forward kernel leaves for the backward kernel.
  template <class T>
  void keep(T* Work::*member, size_t count) {
    kept_ = Buffer(count * sizeof(T));
    work_.*member = kept_.as<T>();
  }

  void forward() override { kernel_(device_.compute(), work_); }

  void prepare_backward() override {
    if (!input_.needs_gradient()) return;
    work_.accumulate = input_.claim_gradient();
    work_.dy = output_.gradient();
    work_.dx = input_.gradient();
  }

  void backward() override {
    if (work_.dx) gradient_(device_.compute(), work_);
  }

 private:
  const Device& device_;
  Work work_;
  const Kernel kernel_, gradient_;
  Tensor& input_;
  Tensor& output_;
  Buffer kept_;
};

}  // namespace

std::unique_ptr<Layer> make_layer(const LayerContext& context, const PoolAndPadOp& op,
                                  Tensor& input, Tensor& output) {
  PoolAndPad work = {};
  work.element = input.element();
  work.images = input.images();
  work.height = number(input.shape().height);
  work.width = number(input.shape().width);
  work.stride = number(op.stride);
  work.channels = input.channels();
  work.out_channels = output.channels();
  work.real_channels = number(input.shape().channels);
  work.first_channel = number((output.shape().channels - input.shape().channels) / 2);
  return std::make_unique<KernelLayer<PoolAndPad>>(context, work, pool_and_pad,
                                                   pool_and_pad_gradient, input, output);
}

std::unique_ptr<Layer> make_layer(const LayerContext& context, const GlobalAveragePoolOp&,
                                  Tensor& input, Tensor& output) {
  GlobalAveragePool work = {};
  work.element = input.element();
  work.images = input.images();
  work.pixels = number(input.shape().pixels());
  work.channels = input.channels();
  return std::make_unique<KernelLayer<GlobalAveragePool>>(
      context, work, global_average_pool, global_average_pool_gradient, input, output);
}

std::unique_ptr<Layer> make_layer(const LayerContext& context, const MaxPoolOp& op, Tensor& input,
                                  Tensor& output) {
  if (op.window > 256)
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = "max pooling windows are limited to 256 pixels"});
  MaxPool work = {};
  work.element = input.element();
  work.images = input.images();
  work.channels = input.channels();
  work.height = number(input.shape().height);
  work.width = number(input.shape().width);
  work.out_height = number(output.shape().height);
  work.out_width = number(output.shape().width);
  work.window = number(op.window);
  work.stride = number(op.stride);
  work.padding_top = number(op.padding_top);
  work.padding_left = number(op.padding_left);
  auto layer = std::make_unique<KernelLayer<MaxPool>>(context, work, max_pool, max_pool_gradient,
                                                      input, output);
  layer->keep(&MaxPool::chosen, size_t{output.rows()} * output.channels());
  return layer;
}

std::unique_ptr<Layer> make_layer(const LayerContext& context, const ActivationOp& op,
                                  Tensor& input, Tensor& output) {
  ActivationWork work = {};
  work.element = input.element();
  work.function = op.function;
  work.packs = number(input.rows() * (input.channels() / lanes_of(input.element())));
  return std::make_unique<KernelLayer<ActivationWork>>(context, work, activation,
                                                       activation_gradient, input, output);
}

std::unique_ptr<Layer> make_layer(const LayerContext& context, const LocalResponseNormOp& op,
                                  Tensor& input, Tensor& output) {
  LocalResponseNorm work = {};
  work.element = input.element();
  work.rows = input.rows();
  work.channels = input.channels();
  work.radius = number(op.radius);
  work.bias = static_cast<float>(op.bias);
  work.alpha = static_cast<float>(op.alpha);
  work.beta = static_cast<float>(op.beta);
  auto layer = std::make_unique<KernelLayer<LocalResponseNorm>>(
      context, work, local_response_norm, local_response_norm_gradient, input, output);
  layer->keep(&LocalResponseNorm::divisor, size_t{output.rows()} * output.channels());
  return layer;
}

}  // namespace recordpipe::cuda
