// Convolution and bias by oneDNN.
#include <algorithm>
#include <optional>
#include <unordered_map>

#include "trainer/backend/cpu/layers/layer.h"
#include "trainer/backend/cpu/pooled_weights_gradient.h"
#include "trainer/backend/cpu/relu.h"
#include "trainer/backend/cpu/reordered_variable.h"

namespace recordpipe {
namespace {

onednn::Dims dims_of(const CpuContext& context, VariableId id) {
  const auto& shape = context.variables.specs()[id].shape;
  return {shape.begin(), shape.end()};
}

onednn::Desc bias_desc(const CpuContext& context, const Conv2dOp& op) {
  return op.bias ? onednn::make_desc(dims_of(context, *op.bias), onednn::Tag::x) : onednn::Desc();
}

// By default, oneDNN 2 chooses Winograd's algorithm (Lavin and Gray 2015,
// https://arxiv.org/abs/1509.09308) for 3x3 kernels with stride 1: 1.5 times as fast as the direct
// algorithm from 24 channels on, but slower for 16. oneDNN 3 has only the direct one.
dnnl::algorithm choose_algorithm(size_t channels) {
  return channels < 24 ? dnnl::algorithm::convolution_direct : dnnl::algorithm::convolution_auto;
}

onednn::Convolution describe(const CpuContext& context, const Conv2dOp& op, const CpuTensor& input,
                             const CpuTensor& output) {
  const auto stride = static_cast<dnnl::memory::dim>(op.stride);
  const auto padding = static_cast<dnnl::memory::dim>(op.padding);
  return {.input = input.desc(),
          .weights = onednn::make_desc(dims_of(context, op.weights), onednn::Tag::any),
          .output = output.desc(),
          .bias = bias_desc(context, op),
          .strides = {stride, stride},
          .padding = {padding, padding},
          .algorithm = choose_algorithm(std::min(input.shape().channels, output.shape().channels))};
}

class CpuConv2d final : public CpuLayer {
 public:
  CpuConv2d(CpuContext& context, const Conv2dOp& op, CpuTensor& input, CpuTensor& output)
      : context_(context),
        op_(op),
        input_(input),
        output_(output),
        convolution_(describe(context, op, input, output)),
        row_major_(onednn::make_desc(dims_of(context, op.weights), onednn::Tag::oihw)),
        forward_desc_(
            onednn::convolution_forward(context.engine, context.forward_kind(), convolution_)),
        weights_(context, op.weights, row_major_, forward_desc_.weights_desc()),
        forward_(forward_desc_),
        forward_arguments_{
            {DNNL_ARG_SRC, {input.desc(), context.engine, input.output()}},
            {DNNL_ARG_WEIGHTS, weights_.memory()},
            {DNNL_ARG_DST, {output.desc(), context.engine, output.output()}},
        } {
    if (op.bias)
      forward_arguments_.insert(
          {DNNL_ARG_BIAS,
           {convolution_.bias, context.engine, context.variables.at(*op.bias).data()}});
  }

  void forward() override {
    weights_.refresh();
    forward_.execute(context_.stream, forward_arguments_);
    if (op_.relu) relu(output_);
  }

  void prepare_backward(GradientPool& pool) override {
    if (output_.max_pooled && op_.kernel == 3 && op_.stride == 1 && op_.padding == 1 && !op_.bias &&
        input_.lanes() == 16 && output_.lanes() == 16)
      pooled_weights_gradient_.emplace(input_, output_);
    else
      prepare_backward_weights();
    if (input_.needs_gradient) prepare_backward_data(pool);
    for (float* part : output_.gradient_parts) pool.give_back(part);
  }

  void backward() override {
    float* output_gradient = output_.sum_gradient();
    if (op_.relu) relu_gradient(output_, output_gradient);
    if (pooled_weights_gradient_) {
      pooled_weights_gradient_->compute(output_gradient,
                                        context_.variables.at(op_.weights, Slot::gradient));
    } else {
      backward_weights_.execute(context_.stream, backward_weights_arguments_);
      weights_gradient_->store();
    }
    if (!input_.needs_gradient) return;
    backward_data_weights_->refresh();
    backward_data_.execute(context_.stream, backward_data_arguments_);
  }

 private:
  using Arguments = std::unordered_map<int, dnnl::memory>;

  void prepare_backward_weights() {
    const onednn::ConvolutionBackwardWeights desc =
        onednn::convolution_backward_weights(context_.engine, convolution_, forward_desc_);
    weights_gradient_.emplace(context_, op_.weights, row_major_, desc.diff_weights_desc());
    backward_weights_ = dnnl::convolution_backward_weights(desc);
    backward_weights_arguments_ = {
        {DNNL_ARG_SRC, {input_.desc(), context_.engine, input_.output()}},
        {DNNL_ARG_DIFF_DST, {output_.desc(), context_.engine, output_.gradient_parts.front()}},
        {DNNL_ARG_DIFF_WEIGHTS, weights_gradient_->memory()},
    };
    if (op_.bias)
      backward_weights_arguments_.insert(
          {DNNL_ARG_DIFF_BIAS,
           {convolution_.bias, context_.engine,
            context_.variables.at(*op_.bias, Slot::gradient).data()}});
  }

  void prepare_backward_data(GradientPool& pool) {
    const onednn::ConvolutionBackwardData desc =
        onednn::convolution_backward_data(context_.engine, convolution_, forward_desc_);
    backward_data_weights_.emplace(context_, op_.weights, row_major_, desc.weights_desc());
    float* input_gradient = pool.take(input_.size());
    input_.gradient_parts.push_back(input_gradient);
    backward_data_ = dnnl::convolution_backward_data(desc);
    backward_data_arguments_ = {
        {DNNL_ARG_DIFF_SRC, {input_.desc(), context_.engine, input_gradient}},
        {DNNL_ARG_WEIGHTS, backward_data_weights_->memory()},
        {DNNL_ARG_DIFF_DST, {output_.desc(), context_.engine, output_.gradient_parts.front()}},
    };
  }

  CpuContext& context_;
  const Conv2dOp op_;
  CpuTensor& input_;
  CpuTensor& output_;
  const onednn::Convolution convolution_;
  const onednn::Desc row_major_;  // of the weights
  const onednn::ConvolutionForward forward_desc_;

  ReorderedVariable weights_;
  dnnl::convolution_forward forward_;
  Arguments forward_arguments_;

  std::optional<ReorderedGradient> weights_gradient_;
  dnnl::convolution_backward_weights backward_weights_;
  Arguments backward_weights_arguments_;
  std::optional<PooledWeightsGradient> pooled_weights_gradient_;  // instead, if it is faster

  std::optional<ReorderedVariable> backward_data_weights_;
  dnnl::convolution_backward_data backward_data_;
  Arguments backward_data_arguments_;
};

}  // namespace

std::unique_ptr<CpuLayer> make_cpu_layer(CpuContext& context, const Conv2dOp& op, CpuTensor& input,
                                         CpuTensor& output) {
  return std::make_unique<CpuConv2d>(context, op, input, output);
}

}  // namespace recordpipe
