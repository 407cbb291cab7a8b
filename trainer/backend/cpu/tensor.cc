#include "trainer/backend/cpu/tensor.h"

#include <algorithm>

namespace recordpipe {

CpuTensor::CpuTensor(size_t images, const FeatureShape& shape, size_t lanes)
    : images_(images), shape_(shape), lanes_(lanes), output_(size()) {}

onednn::Tag CpuTensor::tag() const {
  return lanes_ == 16  ? onednn::Tag::nChw16c
         : lanes_ == 8 ? onednn::Tag::nChw8c
                       : onednn::Tag::nchw;
}

onednn::Desc CpuTensor::desc() const {
  const auto dim = [](size_t n) { return static_cast<dnnl::memory::dim>(n); };
  return onednn::make_desc(
      {dim(images_), dim(shape_.channels), dim(shape_.height), dim(shape_.width)}, tag());
}

std::vector<float> CpuTensor::output_nchw(size_t images) const {
  std::vector<float> values;
  values.reserve(images * shape_.size());
  for (size_t b = 0; b < images; ++b)
    for (size_t c = 0; c < shape_.channels; ++c) {
      const float* plane = output() + (b * channel_blocks() + c / lanes_) * plane_size();
      for (size_t p = 0; p < shape_.pixels(); ++p) values.push_back(plane[p * lanes_ + c % lanes_]);
    }
  return values;
}

size_t CpuTensor::count_zeros(size_t images) const {
  size_t zeros = 0;
#pragma omp parallel for schedule(static) reduction(+ : zeros)
  for (size_t plane = 0; plane < images * channel_blocks(); ++plane) {
    const float* values = output() + plane * plane_size();
    zeros += static_cast<size_t>(std::count(values, values + plane_size(), 0.0f));
  }
  const size_t fillers = channel_blocks() * lanes_ - shape_.channels;
  return zeros - images * shape_.pixels() * fillers;
}

float* CpuTensor::sum_gradient() {
  float* sum = gradient_parts.front();
  for (size_t part = 1; part < gradient_parts.size(); ++part) {
    const float* other = gradient_parts[part];
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < size(); ++i) sum[i] += other[i];
  }
  return sum;
}

float* GradientPool::take(size_t size) {
  // The smallest sufficient buffer.
  Buffer* best = nullptr;
  for (Buffer& buffer : buffers_)
    if (buffer.free && buffer.memory.size() >= size &&
        (!best || buffer.memory.size() < best->memory.size()))
      best = &buffer;
  if (!best) best = &buffers_.emplace_back(internal::AlignedVector<float>(size), true);
  best->free = false;
  return best->memory.data();
}

void GradientPool::give_back(float* data) {
  for (Buffer& buffer : buffers_)
    if (buffer.memory.data() == data) buffer.free = true;
}

}  // namespace recordpipe
