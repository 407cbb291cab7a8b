#include "trainer/backend/cuda/layers/bias_relu_part.h"

namespace recordpipe::cuda {

BiasReluPart::BiasReluPart(const LayerContext& context, std::optional<VariableId> bias, bool relu,
                           Tensor& output)
    : context_(context),
      bias_(bias),
      output_(output),
      work_{.element = output.element(),
            .rows = output.rows(),
            .channels = output.channels(),
            .relu = relu,
            .y = output.data(),
            .bias = bias ? context.variables.at(*bias) : nullptr,
            .dy = nullptr,
            .dbias = nullptr,
            .partial_sums = nullptr,
            .arrived = nullptr,
            .loss_scale = context.variables.device_loss_scale()} {}

void BiasReluPart::forward() const { bias_relu(context_.device.compute(), work_); }

void BiasReluPart::prepare_backward() {
  work_.dy = output_.gradient();
  if (!bias_) return;
  work_.dbias = context_.variables.at(*bias_, Slot::gradient);
  partial_sums_ =
      Buffer(partial_sums_size(work_.rows, work_.channels, work_.element, 1) * sizeof(float));
  work_.partial_sums = partial_sums_.as<float>();
  arrived_ = Buffer(arrived_size(work_.channels, work_.element) * sizeof(uint32_t));
  work_.arrived = arrived_.as<uint32_t>();
}

void BiasReluPart::backward() const { bias_relu_gradient(context_.device.compute(), work_); }

}  // namespace recordpipe::cuda
