// Muon's update of one variable on a GPU: see Variables::apply_momentum().
#pragma once

#include <cstdint>

#include "trainer/backend/cuda/device/device.h"
#include "trainer/backend/cuda/kernels/kernels.h"
#include "trainer/backend/cuda/libraries/matmul.h"

namespace recordpipe::cuda {

class Muon {
 public:
  // Of a matrix [rows][columns] that may be padded with zeros. `device` must outlive this object.
  Muon(const Device& device, uint32_t rows, uint32_t columns);

  // Sets the update's size and scratch memory.
  void apply(MuonUpdate update) const;

 private:
  const Device& device_;
  const bool wide_;  // at least as many columns as rows
  const uint32_t side_, size_;
  Matmul gram_, square_, product_;
  Buffer direction_, more_;          // as the matrix
  Buffer gram_values_, polynomial_;  // square, of the shorter side
  Buffer squares_;
};

}  // namespace recordpipe::cuda
