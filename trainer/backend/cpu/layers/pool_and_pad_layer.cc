// The shortcut that average-pools and adds zero channels (see PoolAndPadOp).
#include <algorithm>
#include <vector>

#include "trainer/backend/cpu/kernels/kernels.h"
#include "trainer/backend/cpu/layers/layer.h"

namespace recordpipe {
namespace {

class CpuPoolAndPad final : public CpuOneInputLayer {
 public:
  CpuPoolAndPad(const PoolAndPadOp& op, CpuTensor& input, CpuTensor& output)
      : CpuOneInputLayer(input, output), stride_(op.stride) {
    const size_t before = (output.shape().channels - input.shape().channels) / 2;
    for (size_t channel = 0; channel < input.shape().channels;) {
      const size_t lane = channel % input.lanes();
      const size_t out_lane = (before + channel) % output.lanes();
      const size_t count = std::min(
          {input.lanes() - lane, output.lanes() - out_lane, input.shape().channels - channel});
      runs_.push_back({.input_block = channel / input.lanes(),
                       .input_lane = lane,
                       .output_block = (before + channel) / output.lanes(),
                       .output_lane = out_lane,
                       .count = count});
      channel += count;
    }
  }

  // Output channels outside all runs are initially zero and never written.
  void forward() override {
#pragma omp parallel for schedule(static)
    for (size_t image = 0; image < output_.images(); ++image)
      for (const Run& run : runs_)
        kernels::average_pool(shape_of(run), input_.output() + input_offset(image, run),
                              output_.output() + output_offset(image, run));
  }

 private:
  // Channels that are adjacent in both the input and the output.
  struct Run {
    size_t input_block, input_lane;
    size_t output_block, output_lane;
    size_t count;
  };

  void backward_data(const float* dy, float* dx) override {
#pragma omp parallel for schedule(static)
    for (size_t image = 0; image < output_.images(); ++image)
      for (const Run& run : runs_)
        kernels::average_pool_gradient(shape_of(run), dy + output_offset(image, run),
                                       dx + input_offset(image, run));
  }

  kernels::PoolShape shape_of(const Run& run) const {
    return {.channels = run.count,
            .stride = stride_,
            .height = output_.shape().height,
            .width = output_.shape().width,
            .large_lanes = input_.lanes(),
            .small_lanes = output_.lanes()};
  }

  // The start of a run.
  size_t input_offset(size_t image, const Run& run) const {
    return (image * input_.channel_blocks() + run.input_block) * input_.plane_size() +
           run.input_lane;
  }
  size_t output_offset(size_t image, const Run& run) const {
    return (image * output_.channel_blocks() + run.output_block) * output_.plane_size() +
           run.output_lane;
  }

  const size_t stride_;
  std::vector<Run> runs_;
};

}  // namespace

std::unique_ptr<CpuLayer> make_cpu_layer(CpuContext&, const PoolAndPadOp& op, CpuTensor& input,
                                         CpuTensor& output) {
  return std::make_unique<CpuPoolAndPad>(op, input, output);
}

}  // namespace recordpipe
