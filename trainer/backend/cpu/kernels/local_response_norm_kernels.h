// Local response normalisation of one image [channels / lanes][pixels][lanes].
#pragma once

#include <cstddef>

namespace recordpipe::kernels {

struct LocalResponseNormShape {
  size_t lanes;
  size_t channels;  // including the padding channels of the last block, which are zero
  size_t pixels;
  size_t radius;
  float bias, alpha, beta;
};

// The size in floats of the workspace for the two functions below.
size_t local_response_norm_workspace(const LocalResponseNormShape& shape);

// `workspace` must be zero at first and must not be used elsewhere.
void local_response_norm(const LocalResponseNormShape& shape, const float* x, float* workspace,
                         float* y);
void local_response_norm_gradient(const LocalResponseNormShape& shape, const float* x,
                                  const float* dy, float* workspace, float* dx);

}  // namespace recordpipe::kernels
