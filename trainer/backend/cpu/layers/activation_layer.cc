// GELU and SiLU by oneDNN.
#include <vector>

#include "trainer/backend/cpu/layers/layer.h"

namespace recordpipe {
namespace {

constexpr float alpha = 1;  // swish: x · σ(alpha · x)

class CpuActivation final : public CpuLayer {
 public:
  CpuActivation(CpuContext& context, const ActivationOp& op, CpuTensor& input, CpuTensor& output)
      : context_(context),
        input_(input),
        output_(output),
        algorithm_(op.function == Activation::gelu ? dnnl::algorithm::eltwise_gelu_erf
                                                   : dnnl::algorithm::eltwise_swish),
        forward_desc_(onednn::eltwise_forward(context.engine, context.forward_kind(), algorithm_,
                                              input.desc(), alpha)),
        forward_(forward_desc_),
        x_(input.desc(), context.engine, input.output()),
        y_(input.desc(), context.engine, output.output()) {}

  void forward() override {
    forward_.execute(context_.stream, {{DNNL_ARG_SRC, x_}, {DNNL_ARG_DST, y_}});
  }

  void prepare_backward(GradientPool& pool) override {
    const std::vector<float*> parts = output_.gradient_parts;
    for (size_t part = 1; part < parts.size(); ++part) pool.give_back(parts[part]);
    if (!input_.needs_gradient) return pool.give_back(parts.front());
    input_.gradient_parts.push_back(parts.front());
    gradient_ = dnnl::memory(input_.desc(), context_.engine, parts.front());
    backward_ = dnnl::eltwise_backward(
        onednn::eltwise_backward(context_.engine, algorithm_, input_.desc(), alpha, forward_desc_));
  }

  void backward() override {
    if (!input_.needs_gradient) return;
    output_.sum_gradient();
    backward_.execute(
        context_.stream,
        {{DNNL_ARG_SRC, x_}, {DNNL_ARG_DIFF_DST, gradient_}, {DNNL_ARG_DIFF_SRC, gradient_}});
  }

 private:
  CpuContext& context_;
  CpuTensor& input_;
  CpuTensor& output_;
  const dnnl::algorithm algorithm_;
  const onednn::EltwiseForward forward_desc_;
  dnnl::eltwise_forward forward_;
  dnnl::eltwise_backward backward_;
  // The input's gradient takes over the memory of the output's.
  dnnl::memory x_, y_, gradient_;
};

}  // namespace

std::unique_ptr<CpuLayer> make_cpu_layer(CpuContext& context, const ActivationOp& op,
                                         CpuTensor& input, CpuTensor& output) {
  return std::make_unique<CpuActivation>(context, op, input, output);
}

}  // namespace recordpipe
