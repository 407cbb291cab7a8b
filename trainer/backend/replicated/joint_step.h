// Common parts of backends whose processes make steps together.
#pragma once

#include <cstddef>

#include "recordpipe/trainer/backend/backend.h"
#include "recordpipe/trainer/backend/replicated/communicator.h"

namespace recordpipe {

// Throws Error{invalid_argument}, in all processes, if their variables or batch sizes differ.
void require_same_start(Communicator& processes, Variables& variables, size_t batch_size);

// The mean loss and the total counts over the batches of all processes; each passes its own result.
BatchResult result_of_all(Communicator& processes, const BatchResult& here);

}  // namespace recordpipe
