// A product of two matrices of one shape, by cuBLASLt (matmul_cublaslt.cc):
//
//   c [rows][columns] = a · b      a [rows][depth], b [depth][columns], all row-major
//
// where a transposed one lies the other way round: a [depth][rows], b [columns][depth].
#pragma once

#include <cstdint>
#include <memory>

#include "trainer/backend/cuda/device.h"
#include "trainer/backend/cuda/element.h"

namespace recordpipe::cuda {

struct MatmulShape {
  Element element;
  bool tf32;  // float32 may be multiplied with fewer bits
  uint32_t rows, columns, depth;
  bool transposed_a, transposed_b;
};

class Matmul {
 public:
  // Throws Error{unsupported} where there is no algorithm. `device` must outlive it.
  Matmul(const Device& device, const MatmulShape& shape);
  ~Matmul();

  // `accumulate` adds the product to c.
  void run(const void* a, const void* b, void* c, bool accumulate = false) const;

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

}  // namespace recordpipe::cuda
