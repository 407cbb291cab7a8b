#include "trainer/backend/cpu/layers/input_layer.h"

namespace recordpipe {
namespace {

template <class Value>
void take(const InputOp& op, const ImageFormat& format, std::span<const Value> values,
          size_t images, float* out) {
  const size_t pixels = format.height * format.width, channels = format.channels;
  const bool nchw = format.layout == Layout::nchw;
  // The distances between pixels and between channels.
  const size_t pixel_step = nchw ? 1 : channels, channel_step = nchw ? pixels : 1;
#pragma omp parallel for schedule(static)
  for (size_t image = 0; image < images; ++image)
    for (size_t c = 0; c < channels; ++c) {
      const Value* from = values.data() + image * channels * pixels + c * channel_step;
      float* to = out + (image * channels + c) * pixels;
      for (size_t p = 0; p < pixels; ++p)
        to[p] = static_cast<float>(from[p * pixel_step]) * op.scale + op.shift;
    }
}

}  // namespace

void CpuInput::load(const ImageBatch& batch) {
  if (batch.format().dtype == DType::uint8)
    take(op_, batch.format(), batch.uint8s(), batch.size(), output_.output());
  else
    take(op_, batch.format(), batch.floats(), batch.size(), output_.output());
}

}  // namespace recordpipe
