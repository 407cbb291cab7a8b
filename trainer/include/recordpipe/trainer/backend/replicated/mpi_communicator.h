// Processes that mpirun started, by MPI (Open MPI on the CPU).
#pragma once

#include <memory>

#include "recordpipe/trainer/backend/replicated/communicator.h"

namespace recordpipe {

// Joins the processes that were started together, `mpirun -n N PROGRAM ...`; a program that was
// started by itself is alone. Once in a process, from the thread that makes all calls. Others may
// run beside it, as a pipeline's do. Throws Error{unsupported} in a build without MPI,
// Error{invalid_argument} the second time.
//
// When it is destroyed, it waits for the others to do the same. Not so during an exception: the
// others may be waiting for what this process will never send. It then leaves MPI as it is, and
// mpirun, which sees a process end so, ends the others.
//
// An mpirun that is stopped by SIGINT or SIGTERM waits a second, sends all processes SIGTERM and, a
// second later, SIGKILL; `--mca odls_base_sigkill_timeout SECONDS` makes both waits longer, to give
// them the time to write a checkpoint. It doesn't notice when they have ended before. A SIGTERM to
// one of the processes has neither wait.
//
// Should MPI itself not start (no shared memory, a broken installation), it prints why and ends the
// process: it takes no error handler before it has started.
//
// Waiting processes spin, so each wants a core of its own: on one machine, give each of N processes
// its share of the threads (CpuBackendOptions::threads), or let mpirun bind them to cores, which
// OpenMP heeds. The sums are MPI_Allreduce's; Open MPI takes an algorithm by size and number of
// processes, none that depends on who comes first.
std::unique_ptr<Communicator> join_mpi();

}  // namespace recordpipe
