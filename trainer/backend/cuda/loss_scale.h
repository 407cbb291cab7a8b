// The loss scale on the device (Micikevicius et al. 2017, https://arxiv.org/abs/1710.03740): there
// the host never waits for it. In other precisions than float16 it is always 1.
#pragma once

#include <cstdint>

namespace recordpipe::cuda {

struct DeviceLossScale {
  float scale = 1;  // a power of two
  float inverse = 1;
  uint32_t good_steps = 0;  // since the last change
  uint32_t overflow = 0;    // 1: a gradient of this step is not finite
};

}  // namespace recordpipe::cuda
