// What processes that make their steps together do, whatever computes in them.
#pragma once

#include <cstddef>

#include "recordpipe/trainer/backend/backend.h"
#include "recordpipe/trainer/backend/replicated/communicator.h"

namespace recordpipe {

// Throws Error{invalid_argument}, in all processes, where they don't have the same variables and
// batch sizes.
void require_same_start(Communicator& processes, Variables& variables, size_t batch_size);

// The mean loss and the counts of the batches of all processes, each of which gives its own's.
BatchResult result_of_all(Communicator& processes, const BatchResult& here);

}  // namespace recordpipe
