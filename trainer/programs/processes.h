// --sync: the processes started by mpirun train one network together.
#pragma once

#include <memory>

#include "recordpipe/trainer/backend/replicated/communicator.h"
#include "recordpipe/trainer/checkpoint/checkpoint.h"

namespace recordpipe {

// With `sync`, joins the other processes (join_mpi); all but rank 0 then log errors only. Without,
// this process is alone. If mpirun has nevertheless started more than one process, which would all
// train in the same folder, logs this and throws UsageError. Throws Error{unsupported} for `sync`
// in a build without MPI.
//
// The rules of join_mpi() for the end apply: the work of the first process for all (saving,
// evaluating, printing) must be done before the destructor runs.
std::unique_ptr<Communicator> join_processes(bool sync);

// Throws Error{invalid_argument} in all processes if one has other settings than the first. The
// setting "device", which depends on the machine, may differ.
void require_same_settings(Communicator& processes, const CheckpointSettings& settings);

// The signal received by any of the processes, or 0; the same in all processes.
int interrupted_anywhere(Communicator& processes);

}  // namespace recordpipe
