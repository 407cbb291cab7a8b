// A dense layer by oneDNN's inner product. The weights use the memory order of their inputs, which
// costs almost nothing. For an image as input, converting to the layouts that oneDNN would choose
// costs more than it saves.
#include <optional>
#include <unordered_map>

#include "trainer/backend/cpu/layers/layer.h"
#include "trainer/backend/cpu/relu.h"
#include "trainer/backend/cpu/reordered_variable.h"

namespace recordpipe {
namespace {

onednn::Dims weights_dims(const CpuTensor& input, const CpuTensor& output) {
  const auto dim = [](size_t n) { return static_cast<dnnl::memory::dim>(n); };
  const auto [channels, height, width] = input.shape();
  return {dim(output.shape().channels), dim(channels), dim(height), dim(width)};
}

class CpuDense final : public CpuLayer {
 public:
  CpuDense(CpuContext& context, const DenseOp& op, CpuTensor& input, CpuTensor& output)
      : context_(context),
        op_(op),
        input_(input),
        output_(output),
        weights_desc_(onednn::make_desc(weights_dims(input, output), input.tag())),
        bias_desc_(onednn::make_desc({weights_dims(input, output)[0]}, onednn::Tag::x)),
        output_desc_(onednn::make_desc(
            {static_cast<dnnl::memory::dim>(output.images()), weights_dims(input, output)[0]},
            onednn::Tag::nc)),
        forward_desc_(onednn::inner_product_forward(context.engine, context.forward_kind(),
                                                    input.desc(), weights_desc_, bias_desc_,
                                                    output_desc_)),
        weights_(context, op.weights,
                 onednn::make_desc(weights_dims(input, output), onednn::Tag::oihw), weights_desc_),
        forward_(forward_desc_),
        forward_arguments_{
            {DNNL_ARG_SRC, {input.desc(), context.engine, input.output()}},
            {DNNL_ARG_WEIGHTS, weights_.memory()},
            {DNNL_ARG_BIAS, {bias_desc_, context.engine, context.variables.at(op.bias).data()}},
            {DNNL_ARG_DST, {output_desc_, context.engine, output.output()}},
        } {}

  void forward() override {
    weights_.refresh();
    forward_.execute(context_.stream, forward_arguments_);
    if (op_.relu) relu(output_);
  }

  void prepare_backward(GradientPool& pool) override {
    const dnnl::memory output_gradient(output_desc_, context_.engine,
                                       output_.gradient_parts.front());
    const auto weights_desc = onednn::inner_product_backward_weights(
        context_.engine, input_.desc(), weights_desc_, bias_desc_, output_desc_, forward_desc_);
    weights_gradient_.emplace(context_, op_.weights,
                              onednn::make_desc(weights_dims(input_, output_), onednn::Tag::oihw),
                              weights_desc_);
    backward_weights_ = dnnl::inner_product_backward_weights(weights_desc);
    backward_weights_arguments_ = {
        {DNNL_ARG_SRC, {input_.desc(), context_.engine, input_.output()}},
        {DNNL_ARG_DIFF_DST, output_gradient},
        {DNNL_ARG_DIFF_WEIGHTS, weights_gradient_->memory()},
        {DNNL_ARG_DIFF_BIAS,
         {bias_desc_, context_.engine, context_.variables.at(op_.bias, Slot::gradient).data()}},
    };

    if (input_.needs_gradient) {
      const auto data_desc = onednn::inner_product_backward_data(
          context_.engine, input_.desc(), weights_desc_, output_desc_, forward_desc_);
      float* input_gradient = pool.take(input_.size());
      input_.gradient_parts.push_back(input_gradient);
      backward_data_ = dnnl::inner_product_backward_data(data_desc);
      backward_data_arguments_ = {
          {DNNL_ARG_DIFF_SRC, {input_.desc(), context_.engine, input_gradient}},
          {DNNL_ARG_WEIGHTS, weights_.memory()},
          {DNNL_ARG_DIFF_DST, output_gradient},
      };
    }
    for (float* part : output_.gradient_parts) pool.give_back(part);
  }

  void backward() override {
    float* output_gradient = output_.sum_gradient();
    if (op_.relu) relu_gradient(output_, output_gradient);
    backward_weights_.execute(context_.stream, backward_weights_arguments_);
    weights_gradient_->store();
    if (!input_.needs_gradient) return;
    backward_data_.execute(context_.stream, backward_data_arguments_);
  }

 private:
  using Arguments = std::unordered_map<int, dnnl::memory>;

  CpuContext& context_;
  const DenseOp op_;
  CpuTensor& input_;
  CpuTensor& output_;
  // The descriptors of the primitives: the output is a matrix, the weights' [in] has the input's
  // shape.
  const onednn::Desc weights_desc_, bias_desc_, output_desc_;
  const onednn::InnerProductForward forward_desc_;

  ReorderedVariable weights_;
  dnnl::inner_product_forward forward_;
  Arguments forward_arguments_;

  std::optional<ReorderedGradient> weights_gradient_;
  dnnl::inner_product_backward_weights backward_weights_;
  Arguments backward_weights_arguments_;

  dnnl::inner_product_backward_data backward_data_;
  Arguments backward_data_arguments_;
};

}  // namespace

std::unique_ptr<CpuLayer> make_cpu_layer(CpuContext& context, const DenseOp& op, CpuTensor& input,
                                         CpuTensor& output) {
  return std::make_unique<CpuDense>(context, op, input, output);
}

}  // namespace recordpipe
