// Chooses among the algorithms that a library (cuDNN, cuBLASLt) lists for a piece of work.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace recordpipe::cuda {

struct AlgorithmOffer {
  std::string name;          // for messages: "algorithm 1"
  std::string problem = {};  // the library's reason why it can't be used; empty: it can
  bool deterministic = true;
  bool tensor_cores = false;  // rounds float32 factors
  size_t workspace_bytes = 0;
};

struct AlgorithmLimits {
  bool tensor_cores = true;  // allowed
  size_t workspace_bytes = 0;
};

// Returns the index of the first offer that is deterministic, within the limits, and runs.
// `run(index)` tries an offer; it returns the reason why it can't be run, or an empty string.
// Throws Error{unsupported} with the reason for each rejected offer: "no algorithm for WORK; ...".
size_t choose_algorithm(const std::string& work, std::span<const AlgorithmOffer> offers,
                        const AlgorithmLimits& limits,
                        const std::function<std::string(size_t)>& run);

}  // namespace recordpipe::cuda
