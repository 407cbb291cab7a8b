#include "trainer/programs/evaluation.h"

#include <cerrno>
#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "dataset/base/error.h"

namespace recordpipe {

BatchResult evaluate_averaged(Backend& backend, const Network& network, Variables& variables,
                              const Dataset<ImageBatch>& batches, size_t batch_size,
                              const std::function<bool()>& stop) {
  if (!variables.has_averages())
    return evaluate(backend, network, variables, batches, batch_size, stop);
  const std::unique_ptr<Variables> averaged = backend.make_variables(network);
  copy_averages(variables, *averaged);
  return evaluate(backend, network, *averaged, batches, batch_size, stop);
}

void print_accuracy(const BatchResult& result, uint64_t step, bool synthetic) {
  fmt::print("{}eval accuracy {:.2f}% ({}/{}) at step {}\n", synthetic ? "synthetic " : "",
             100 * static_cast<double>(result.correct) / static_cast<double>(result.images),
             result.correct, result.images, step);
  if (std::fflush(stdout) != 0) throw system_error(errno, "write", "standard output");
}

}  // namespace recordpipe
