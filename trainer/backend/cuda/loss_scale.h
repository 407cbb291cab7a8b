// What gradients are multiplied with on their way back, so that float16 can hold the small ones
// (Micikevicius et al. 2017, https://arxiv.org/abs/1710.03740). It lies on the device, so that
// nobody waits for it. In the other precisions it is 1 and stays so.
#pragma once

#include <cstdint>

namespace recordpipe::cuda {

struct LossScale {
  float scale = 1;  // a power of two
  float inverse = 1;
  uint32_t good_steps = 0;  // since it changed
  uint32_t overflow = 0;    // 1: a gradient of this step is not finite
};

}  // namespace recordpipe::cuda
