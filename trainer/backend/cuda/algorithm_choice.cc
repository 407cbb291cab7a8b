#include "trainer/backend/cuda/algorithm_choice.h"

#include "recordpipe/error.h"

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
                        const AlgorithmLimits& limits,
                        const std::function<std::string(size_t)>& run) {
  std::string problems;
  for (size_t i = 0; i < offers.size(); ++i) {
    std::string problem = problem_of(offers[i], limits);
    if (problem.empty()) problem = run(i);
    if (problem.empty()) return i;
    problems += "; " + offers[i].name + ": " + problem;
  }
  if (problems.empty()) problems = "; none is listed";
  throw Error({.kind = ErrorKind::unsupported,
               .reason = "no algorithm for " + work + problems,
               .hint = "a larger workspace may allow other algorithms"});
}

}  // namespace recordpipe::cuda
