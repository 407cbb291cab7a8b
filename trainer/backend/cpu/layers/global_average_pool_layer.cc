// The mean over all pixels.
#include <algorithm>

#include "trainer/backend/cpu/kernels/kernels.h"
#include "trainer/backend/cpu/layers/layer.h"

namespace recordpipe {
namespace {

class CpuGlobalAveragePool final : public CpuOneInputLayer {
 public:
  CpuGlobalAveragePool(CpuTensor& input, CpuTensor& output) : CpuOneInputLayer(input, output) {}

  void forward() override {
    const size_t lanes = input_.lanes(), blocks = input_.channel_blocks();
#pragma omp parallel for schedule(static)
    for (size_t plane = 0; plane < input_.planes(); ++plane) {
      float mean[16], squares[16];
      kernels::moments(lanes, input_.shape().pixels(),
                       input_.output() + plane * input_.plane_size(), mean, squares);
      const size_t image = plane / blocks, block = plane % blocks;
      std::copy_n(mean, channels_in(block),
                  output_.output() + image * input_.shape().channels + block * lanes);
    }
  }

 private:
  void backward_data(const float* dy, float* dx) override {
    const size_t lanes = input_.lanes(), blocks = input_.channel_blocks();
    const size_t pixels = input_.shape().pixels();
#pragma omp parallel for schedule(static)
    for (size_t plane = 0; plane < input_.planes(); ++plane) {
      const size_t image = plane / blocks, block = plane % blocks;
      float pixel[16] = {};
      for (size_t lane = 0; lane < channels_in(block); ++lane)
        pixel[lane] =
            dy[image * input_.shape().channels + block * lanes + lane] / static_cast<float>(pixels);
      float* to = dx + plane * input_.plane_size();
      for (size_t p = 0; p < pixels; ++p) std::copy_n(pixel, lanes, to + p * lanes);
    }
  }

  // Without the padding channels of the last block: the output is plain.
  size_t channels_in(size_t block) const {
    return std::min(input_.lanes(), input_.shape().channels - block * input_.lanes());
  }
};

}  // namespace

std::unique_ptr<CpuLayer> make_cpu_layer(CpuContext&, const GlobalAveragePoolOp&, CpuTensor& input,
                                         CpuTensor& output) {
  return std::make_unique<CpuGlobalAveragePool>(input, output);
}

}  // namespace recordpipe
