// What cuBLASLt's heuristics say about an algorithm.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <cublasLt.h>

#include "trainer/backend/cuda/libraries/algorithm_choice.h"

namespace recordpipe::cuda {

// Nothing else of a result is valid if its state isn't success.
inline std::vector<AlgorithmOffer> offers_of(
    std::span<const cublasLtMatmulHeuristicResult_t> results) {
  std::vector<AlgorithmOffer> offers;
  for (const cublasLtMatmulHeuristicResult_t& result : results) {
    const bool valid = result.state == CUBLAS_STATUS_SUCCESS;
    offers.push_back({.name = "algorithm " + std::to_string(offers.size()),
                      .problem = valid ? "" : cublasLtGetStatusString(result.state),
                      .workspace_bytes = valid ? result.workspaceSize : 0});
  }
  return offers;
}

}  // namespace recordpipe::cuda
