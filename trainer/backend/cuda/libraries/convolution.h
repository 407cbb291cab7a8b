// A convolution of one shape and its two gradients, by cuDNN (convolution_cudnn.cc).
//
// Tensors are [images][height][width][channels], weights [out][kernel][kernel][in], all of the same
// element type; channels are a multiple of a pack.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "trainer/backend/cuda/device/device.h"
#include "trainer/backend/cuda/kernels/element.h"

namespace recordpipe::cuda {

struct ConvolutionShape {
  Element element;
  bool tf32;  // float32 may be multiplied with reduced precision
  uint32_t images;
  uint32_t in_channels, in_height, in_width;
  uint32_t out_channels, out_height, out_width;
  uint32_t kernel, stride, padding;
};

class Convolution {
 public:
  // `measure`: uses the fastest algorithm by measurement instead of cuDNN's prediction. `device`
  // must outlive this object.
  Convolution(const Device& device, const ConvolutionShape& shape, bool measure);
  ~Convolution();

  // Chooses an algorithm and tries it on these tensors, whose contents it may change. Must be
  // called before the first run of each direction. Throws Error{unsupported} if there is no
  // algorithm. `accumulate`: dx is added to its previous contents; not every algorithm supports
  // this.
  void prepare_forward(const void* x, const void* weights, void* y);
  void prepare_backward_data(const void* weights, const void* dy, void* dx, bool accumulate);
  void prepare_backward_weights(const void* x, const void* dy, void* dweights);

  void forward(const void* x, const void* weights, void* y) const;
  void backward_data(const void* weights, const void* dy, void* dx) const;
  void backward_weights(const void* x, const void* dy, void* dweights) const;

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

}  // namespace recordpipe::cuda
