// The rectifier y = max(0, y) as a pass of its own over what a layer gave. oneDNN could apply it to
// the output of its primitives, but would make zeros of what is not a number.
#pragma once

#include "trainer/backend/cpu/tensor.h"

namespace recordpipe {

void relu(CpuTensor& tensor);

// Of the gradient of a tensor that relu() has passed over, cuts off what it lets nothing through
// to.
void relu_gradient(const CpuTensor& tensor, float* gradient);

}  // namespace recordpipe
