// What the programs share of evaluating.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "trainer/training/evaluate.h"

namespace recordpipe {

// evaluate() with the averages of the variables, where there are some.
BatchResult evaluate_averaged(Backend& backend, const Network& network, Variables& variables,
                              const Dataset<ImageBatch>& batches, size_t batch_size,
                              const std::function<bool()>& stop);

// Prints "eval accuracy P% (correct/total) at step N" to standard output, the last line of every
// evaluation; "synthetic " before it where the data are. Throws Error where it can't be written.
void print_accuracy(const BatchResult& result, uint64_t step, bool synthetic);

}  // namespace recordpipe
