// --sync: the processes that mpirun has started train one network together.
#pragma once

#include <memory>

#include "recordpipe/trainer/backend/replicated/communicator.h"
#include "recordpipe/trainer/checkpoint/checkpoint.h"

namespace recordpipe {

// With `sync`, joins the others (join_mpi); they, rank 0 excepted, log nothing but errors from then
// on. Else this process is alone, and where mpirun has started more than one, which would all train
// in the same folder, it says so and throws UsageError. Throws Error{unsupported} for `sync` in a
// build without MPI.
//
// What is said in join_mpi() about the end holds: whatever the first process does for all, saving,
// evaluating, printing, must be done when this goes.
std::unique_ptr<Communicator> join_processes(bool sync);

// Throws Error{invalid_argument} in all processes where one of them has other settings than the
// first. What depends on the machine, the setting "device", may differ.
void require_same_settings(Communicator& processes, const CheckpointSettings& settings);

// The signal that came to any of the processes, or 0; all are told the same.
int interrupted_anywhere(Communicator& processes);

}  // namespace recordpipe
