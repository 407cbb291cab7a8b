// Max pooling (see MaxPoolOp) by own loops: oneDNN's drops NaN.
#include "trainer/backend/cpu/kernels/max_pool_kernels.h"
#include "trainer/backend/cpu/layers/layer.h"

namespace recordpipe {
namespace {

class CpuMaxPool final : public CpuOneInputLayer {
 public:
  CpuMaxPool(const MaxPoolOp& op, CpuTensor& input, CpuTensor& output)
      : CpuOneInputLayer(input, output),
        shape_{.window = op.window,
               .stride = op.stride,
               .padding_top = op.padding_top,
               .padding_left = op.padding_left,
               .in_height = input.shape().height,
               .in_width = input.shape().width,
               .out_height = output.shape().height,
               .out_width = output.shape().width} {}

  void forward() override {
#pragma omp parallel for schedule(static)
    for (size_t plane = 0; plane < output_.planes(); ++plane)
      kernels::max_pool(output_.lanes(), shape_, input_.output() + plane * input_.plane_size(),
                        output_.output() + plane * output_.plane_size());
  }

 private:
  void backward_data(const float* dy, float* dx) override {
#pragma omp parallel for schedule(static)
    for (size_t plane = 0; plane < output_.planes(); ++plane)
      kernels::max_pool_gradient(
          output_.lanes(), shape_, input_.output() + plane * input_.plane_size(),
          output_.output() + plane * output_.plane_size(), dy + plane * output_.plane_size(),
          dx + plane * input_.plane_size());
  }

  const kernels::MaxPoolShape shape_;
};

}  // namespace

std::unique_ptr<CpuLayer> make_cpu_layer(CpuContext&, const MaxPoolOp& op, CpuTensor& input,
                                         CpuTensor& output) {
  return std::make_unique<CpuMaxPool>(op, input, output);
}

}  // namespace recordpipe
