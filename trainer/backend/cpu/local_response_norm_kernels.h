// Local response normalisation of one image [channels / lanes][pixels][lanes].
#pragma once

#include <cstddef>

namespace recordpipe::kernels {

struct LocalResponseNormShape {
  size_t lanes;
  size_t channels;  // those included that only fill the last block up: they are zero
  size_t pixels;
  size_t radius;
  float bias, alpha, beta;
};

// How many floats of memory the two functions below work in.
size_t local_response_norm_workspace(const LocalResponseNormShape& shape);

// `workspace` is zero at first and only used here.
void local_response_norm(const LocalResponseNormShape& shape, const float* x, float* workspace,
                         float* y);
void local_response_norm_gradient(const LocalResponseNormShape& shape, const float* x,
                                  const float* dy, float* workspace, float* dx);

}  // namespace recordpipe::kernels
