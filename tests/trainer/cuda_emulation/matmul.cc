// Replaces cuBLASLt with plain loops that sum in float and round the result once.
#include "trainer/backend/cuda/libraries/matmul.h"

#include "tests/trainer/cuda_emulation/factor.h"
#include "trainer/backend/cuda/kernels/launch.h"

namespace recordpipe::cuda {

struct Matmul::Plan {
  Stream stream;
  MatmulShape shape;
};

Matmul::Matmul(const Device& device, const MatmulShape& shape)
    : plan_(std::make_unique<Plan>(Plan{device.compute(), shape})) {}
Matmul::~Matmul() = default;

void Matmul::run(const void* a, const void* b, void* c, bool accumulate) const {
  run_on(plan_->stream, [=, s = plan_->shape] {
    with_element(s.element, [&]<class T>(T*) {
      for (size_t i = 0; i < s.rows; ++i)
        for (size_t j = 0; j < s.columns; ++j) {
          float sum = 0;
          for (size_t k = 0; k < s.depth; ++k)
            sum +=
                factor(static_cast<const T*>(a)[s.transposed_a ? k * s.rows + i : i * s.depth + k],
                       s.tf32) *
                factor(
                    static_cast<const T*>(b)[s.transposed_b ? j * s.depth + k : k * s.columns + j],
                    s.tf32);
          T& to = static_cast<T*>(c)[i * s.columns + j];
          to = narrow<T>(accumulate ? widen(to) + sum : sum);
        }
    });
  });
}

}  // namespace recordpipe::cuda
