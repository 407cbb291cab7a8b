#include "trainer/backend/cuda/libraries/algorithm_choice.h"

#include <optional>

#include "recordpipe/base/error.h"

namespace recordpipe::cuda {
namespace {

// Empty: the offer may be tried.
std::string problem_of(const AlgorithmOffer& offer, const AlgorithmLimits& limits) {
  if (!offer.problem.empty()) return offer.problem;
  if (!offer.deterministic) return "not deterministic";
  if (offer.tensor_cores && !limits.tensor_cores) return "uses tensor cores";
  if (offer.workspace_bytes > limits.workspace_bytes)
    return "needs a workspace of " + std::to_string(offer.workspace_bytes) + " bytes";
  return {};
}

}  // namespace

size_t choose_algorithm(const std::string& work, std::span<const AlgorithmOffer> offers,
                        const AlgorithmLimits& limits, bool measure,
                        const std::function<AlgorithmTrial(size_t)>& run) {
  std::string problems;
  std::optional<size_t> fastest;
  double least = 0;
  for (size_t i = 0; i < offers.size() && (measure || !fastest); ++i) {
    AlgorithmTrial trial = {.problem = problem_of(offers[i], limits)};
    if (trial.problem.empty()) trial = run(i);
    if (!trial.problem.empty()) {
      problems += "; " + offers[i].name + ": " + trial.problem;
    } else if (!fastest || trial.microseconds < least) {
      fastest = i;
      least = trial.microseconds;
    }
  }
  if (fastest) return *fastest;
  if (problems.empty()) problems = "; none is listed";
  throw Error({.kind = ErrorKind::unsupported,
               .reason = "no algorithm for " + work + problems,
               .hint = "try another precision, a larger workspace, or the cpu backend"});
}

}  // namespace recordpipe::cuda
