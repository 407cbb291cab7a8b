// A product of two matrices of fixed shapes, by cuBLASLt (matmul_cublaslt.cc):
//
//   c [rows][columns] = a · b      a [rows][depth], b [depth][columns], all row-major
//
// A transposed a is stored as [depth][rows], a transposed b as [columns][depth].
#pragma once

#include <cstdint>
#include <memory>

#include "trainer/backend/cuda/device/device.h"
#include "trainer/backend/cuda/kernels/element.h"

namespace recordpipe::cuda {

struct MatmulShape {
  Element element;
  bool tf32;  // float32 may be multiplied with reduced precision
  uint32_t rows, columns, depth;
  bool transposed_a, transposed_b;
};

class Matmul {
 public:
  // Throws Error{unsupported} if there is no algorithm. `device` must outlive this object.
  Matmul(const Device& device, const MatmulShape& shape);
  ~Matmul();

  // `accumulate` adds the product to c.
  void run(const void* a, const void* b, void* c, bool accumulate = false) const;

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

}  // namespace recordpipe::cuda
