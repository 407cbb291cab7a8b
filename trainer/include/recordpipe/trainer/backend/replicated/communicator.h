// Communication between processes that train one network together.
//
// A program started N times by mpirun with --sync
//
//   1. joins the other processes before any slow work: join_mpi() (mpi_communicator.h);
//   2. reads every N-th record (Cifar10Options::num_shards = size(), shard_index = rank()): batch k
//      of all processes together is batch k of one process with batches N times as large; epochs
//      are counted in images of the whole batch;
//   3. wraps its backend in a ReplicatedBackend (replicated_backend.h), or on GPUs uses a
//      MultiGpuBackend (trainer/backend/cuda), and trains as usual;
//   4. restores or initialises the variables on rank 0 and sends them to the other processes, with
//      the step and the input position (share_restored, trainer/session): only rank 0 needs access
//      to the checkpoints;
//   5. prints, writes checkpoints and evaluates on rank 0 only: all processes hold the same
//      variables, including batch norm's statistics;
//   6. calls any() after each step to agree on a stop, so that all processes stop at the same step;
//      after a failure it leaves main with a nonzero status.
//
// TrainingSession (SessionOptions::processes) implements 4 and 6, trainer/programs the rest.
//
// If a process dies, mpirun ends the others. A restarted program continues from the last
// checkpoint, with the same or another number of processes.
#pragma once

#include <cstddef>
#include <span>

#include "recordpipe/trainer/backend/variables.h"

namespace recordpipe {

// All processes must call each member except rank() and size() in the same order and with the same
// number of values. A call may wait for the other processes. All calls must come from one thread.
// Throws Error{network} if another process can't be reached. After that, or after an exception in
// only one process, the process must end.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual size_t rank() const = 0;  // this process, from 0
  virtual size_t size() const = 0;  // the number of processes
  // The index of this process among those on the same machine, from 0; selects its GPU.
  virtual size_t rank_on_machine() const { return rank(); }

  // Replaces each value by its sum over all processes. The bits are the same in every process and
  // in every run with the same number of processes.
  virtual void all_reduce_sum(std::span<float> values) = 0;
  virtual void all_reduce_sum(std::span<double> values) = 0;
  // Replaces the bytes in all processes by those of rank 0.
  virtual void broadcast(std::span<std::byte> bytes) = 0;
};

// A process without others.
class SingleProcess final : public Communicator {
 public:
  size_t rank() const override { return 0; }
  size_t size() const override { return 1; }
  void all_reduce_sum(std::span<float>) override {}
  void all_reduce_sum(std::span<double>) override {}
  void broadcast(std::span<std::byte>) override {}
};

// Whether `here` is true in any process: for decisions that all processes must make alike.
bool any(Communicator& communicator, bool here);

// Copies the values, momenta, averages and loss scale of rank 0 to all processes.
void share_variables(Communicator& communicator, Variables& variables);

}  // namespace recordpipe
