#include "trainer/backend/cuda/layers/layer.h"

#include <limits>

namespace recordpipe::cuda {
namespace {

uint32_t checked(size_t images, const FeatureShape& shape, Element element) {
  // A batch has at most 2^30 images.
  constexpr size_t most = std::numeric_limits<int32_t>::max();
  const size_t channels = padded(shape.channels, element);
  if (channels > most || shape.pixels() > most / channels ||
      images > most / (shape.pixels() * channels))
    fail_for_memory();
  return static_cast<uint32_t>(images);
}

}  // namespace

Tensor::Tensor(size_t images, const FeatureShape& shape, Element element)
    : element_(element),
      images_(checked(images, shape, element)),
      shape_(shape),
      channels_(static_cast<uint32_t>(padded(shape.channels, element))) {
  data_ = Buffer(bytes());
}

bool Tensor::claim_gradient() {
  const bool accumulate = gradient_.data() != nullptr;
  if (!accumulate) gradient_ = Buffer(bytes());
  return accumulate;
}

}  // namespace recordpipe::cuda
