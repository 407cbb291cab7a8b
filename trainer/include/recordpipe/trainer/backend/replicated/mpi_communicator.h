// Communication between processes started by mpirun, through MPI (Open MPI on the CPU).
#pragma once

#include <memory>

#include "recordpipe/trainer/backend/replicated/communicator.h"

namespace recordpipe {

// Joins the processes started together by `mpirun -n N PROGRAM ...`; a program started alone is the
// only process. Call it once per process, from the thread that makes all later calls. Other
// threads, for example those of a pipeline, may run beside it. Throws Error{unsupported} in a build
// without MPI, and Error{invalid_argument} at a second call.
//
// The destructor waits for the destructors of the other processes. During an exception it doesn't,
// because the others may be waiting for data from this process: it leaves MPI unfinalised, and
// mpirun, which detects such an end, ends the others.
//
// After SIGINT or SIGTERM, mpirun waits a second, sends SIGTERM to all processes and, a second
// later, SIGKILL, even if the processes have already ended. `--mca odls_base_sigkill_timeout
// SECONDS` lengthens both waits, to leave time for a checkpoint. A SIGTERM sent to one process
// directly has neither wait.
//
// If MPI can't start (no shared memory, a broken installation), it prints the reason and ends the
// process: MPI accepts error handlers only after it has started.
//
// Waiting processes spin, so each needs its own core: on one machine, give each of the N processes
// its share of the threads (CpuBackendOptions::threads), or let mpirun bind them to cores, which
// OpenMP respects. Sums are computed by MPI_Allreduce. Open MPI selects the algorithm by the size
// and the number of processes; no algorithm depends on the order of arrival.
std::unique_ptr<Communicator> join_mpi();

}  // namespace recordpipe
