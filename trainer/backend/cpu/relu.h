// ReLU, y = max(0, y), as a separate pass over a layer's output. oneDNN could fuse it into its
// primitives, but would turn NaN into 0.
#pragma once

#include "trainer/backend/cpu/tensor.h"

namespace recordpipe {

void relu(CpuTensor& tensor);

// Zeroes the gradient where relu() has set `tensor` to zero.
void relu_gradient(const CpuTensor& tensor, float* gradient);

}  // namespace recordpipe
