#include "trainer/backend/cpu/relu.h"

namespace recordpipe {

void relu(CpuTensor& tensor) {
  float* y = tensor.output();
#pragma omp parallel for simd schedule(static)
  for (size_t i = 0; i < tensor.size(); ++i) y[i] = y[i] < 0 ? 0 : y[i];
}

void relu_gradient(const CpuTensor& tensor, float* gradient) {
  const float* y = tensor.output();
#pragma omp parallel for simd schedule(static)
  for (size_t i = 0; i < tensor.size(); ++i) gradient[i] = y[i] > 0 ? gradient[i] : 0;
}

}  // namespace recordpipe
