// The output of a node for a whole batch, in the layout of fast CPU convolutions: [images][channels
// / lanes][height][width][lanes], where `lanes` channels fill a vector register. oneDNN calls this
// nChw16c and nChw8c; with one lane it is plain nchw.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "recordpipe/base/internal/aligned_allocator.h"
#include "recordpipe/trainer/model/network.h"
#include "trainer/backend/cpu/onednn.h"

namespace recordpipe {

class CpuTensor {
 public:
  CpuTensor(size_t images, const FeatureShape& shape, size_t lanes);

  size_t images() const { return images_; }
  const FeatureShape& shape() const { return shape_; }
  size_t lanes() const { return lanes_; }
  size_t channel_blocks() const { return (shape_.channels + lanes_ - 1) / lanes_; }
  // A plane is one block of channels of one image: [height][width][lanes].
  size_t planes() const { return images_ * channel_blocks(); }
  size_t plane_size() const { return shape_.pixels() * lanes_; }
  // Includes the padding channels of the last block, which are always zero.
  size_t size() const { return planes() * plane_size(); }

  onednn::Tag tag() const;
  onednn::Desc desc() const;

  float* output() { return output_.data(); }
  const float* output() const { return output_.data(); }
  // The first `images` images, as [images][channels][height][width].
  std::vector<float> output_nchw(size_t images) const;
  // The number of zeros in that output.
  size_t count_zeros(size_t images) const;

  // The gradient is the sum of parts, one from each node that reads this one. After backward()
  // their memory is reused.
  bool needs_gradient = false;
  // Whether only max pooling over windows of 2x2 without overlap or padding reads the output.
  bool max_pooled = false;
  std::vector<float*> gradient_parts;
  // Adds all parts to the first.
  float* sum_gradient();

 private:
  size_t images_;
  FeatureShape shape_;
  size_t lanes_;
  internal::AlignedVector<float> output_;
};

// Memory for gradients. Planned once, in the order of the backward pass: a returned buffer is
// reused by the next request that fits, so that few buffers are in use and they stay in cache.
class GradientPool {
 public:
  float* take(size_t size);
  void give_back(float* data);

 private:
  struct Buffer {
    internal::AlignedVector<float> memory;
    bool free;
  };
  std::vector<Buffer> buffers_;
};

}  // namespace recordpipe
