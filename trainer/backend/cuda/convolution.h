// A convolution of one shape and its two gradients, by cuDNN (convolution_cudnn.cc).
//
// Tensors are [images][height][width][channels], weights [out][kernel][kernel][in], all of one
// element; channels are whole packs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "trainer/backend/cuda/device.h"
#include "trainer/backend/cuda/element.h"

namespace recordpipe::cuda {

struct ConvolutionShape {
  Element element;
  bool tf32;  // float32 may be multiplied with fewer bits
  uint32_t images;
  uint32_t in_channels, in_height, in_width;
  uint32_t out_channels, out_height, out_width;
  uint32_t kernel, stride, padding;
};

class Convolution {
 public:
  // `measure`: take the fastest algorithm instead of the one that is expected to be. `device` must
  // outlive it.
  Convolution(const Device& device, const ConvolutionShape& shape, bool measure);
  ~Convolution();

  // Chooses an algorithm and tries it on these tensors, whose contents it may change. Before the
  // first run of each. Throws Error{unsupported} where there is none. `accumulate`: dx is added to
  // what is there; an algorithm need not be able to.
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
