// Chooses among the algorithms that a library (cuDNN, cuBLASLt) lists for a piece of work.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace recordpipe::cuda {

struct AlgorithmOffer {
  std::string name;          // for messages: "engine 41"
  std::string problem = {};  // the reason why it can't be used; empty: it can
  bool deterministic = true;
  bool tensor_cores = false;  // rounds float32 factors
  size_t workspace_bytes = 0;
};

struct AlgorithmLimits {
  bool tensor_cores = true;  // allowed
  size_t workspace_bytes = 0;
};

struct AlgorithmTrial {
  std::string problem = {};  // the reason why it can't be run; empty: it ran
  double microseconds = 0;   // 0 if it wasn't measured
};

// Returns the index of the fastest offer that is deterministic, within the limits, and runs: of
// equally fast ones the first. `run(index)` tries an offer. Unless `measure`, the offers are in the
// order of their predicted times, and those after the first that runs aren't tried.
// Throws Error{unsupported} with the reason for each rejected offer: "no algorithm for WORK; ...".
size_t choose_algorithm(const std::string& work, std::span<const AlgorithmOffer> offers,
                        const AlgorithmLimits& limits, bool measure,
                        const std::function<AlgorithmTrial(size_t)>& run);

}  // namespace recordpipe::cuda
