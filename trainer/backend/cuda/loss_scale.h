// The factor by which gradients are scaled in the backward pass, so that small ones don't underflow
// in float16 (Micikevicius et al. 2017, https://arxiv.org/abs/1710.03740). It is stored on the
// device, so that the host never waits for it. In the other precisions it is always 1.
#pragma once

#include <cstdint>

namespace recordpipe::cuda {

struct LossScale {
  float scale = 1;  // a power of two
  float inverse = 1;
  uint32_t good_steps = 0;  // since the last change
  uint32_t overflow = 0;    // 1: a gradient of this step is not finite
};

}  // namespace recordpipe::cuda
