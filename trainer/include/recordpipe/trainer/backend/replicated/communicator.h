// Processes that train one network together: what they say to each other.
//
// A program that is started N times by mpirun and given --sync
//
//   1. joins the others before it does anything slow: join_mpi() (mpi_communicator.h);
//   2. reads every N-th record (Cifar10Options::num_shards = size(), shard_index = rank()), so that
//      the k-th batches of all processes together are the k-th batch of one process with batches N
//      times as large; epochs are counted in images of the whole batch;
//   3. wraps its backend into a DistributedBackend (distributed_backend.h), or on GPUs takes a
//      MultiGpuBackend (trainer/backend/cuda), and trains as ever;
//   4. restores or initialises the variables on rank 0, and shares them, the step and the place in
//      the data (share_restored, trainer/session), so that no other process needs to see the
//      checkpoints;
//   5. lets rank 0 alone print, write checkpoints and evaluate: every process holds the same
//      variables, batch norm's statistics included;
//   6. asks any() after a step whether one of them is to stop, so that all stop at the same step,
//      and ends a failure by leaving main with a status that isn't 0.
//
// TrainingSession (SessionOptions::processes) does 4 and 6, trainer/programs the rest.
//
// Where a process dies, mpirun ends the others. Started again, the program goes on from the last
// checkpoint, with the same or another number of processes.
#pragma once

#include <cstddef>
#include <span>

#include "recordpipe/trainer/backend/variables.h"

namespace recordpipe {

// Each member but rank() and size() is called by all processes in the same order, with the same
// number of values, and may wait for the others. One thread calls them all. Throws
// Error{network} where the others can't be reached; after that, or any other exception that a
// process doesn't share with the others, it can only end.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual size_t rank() const = 0;  // this process, from 0
  virtual size_t size() const = 0;  // how many there are
  // This process among those on the same machine, from 0: which GPU it takes.
  virtual size_t rank_on_machine() const { return rank(); }

  // Replaces each value by the sum of all processes' values: the same bits in every process, and in
  // every run with as many processes.
  virtual void all_reduce_sum(std::span<float> values) = 0;
  virtual void all_reduce_sum(std::span<double> values) = 0;
  // Replaces the bytes by those of rank 0.
  virtual void broadcast(std::span<std::byte> bytes) = 0;
  // Returns when every process has called it.
  virtual void barrier() = 0;
};

// A process by itself.
class SingleProcess final : public Communicator {
 public:
  size_t rank() const override { return 0; }
  size_t size() const override { return 1; }
  void all_reduce_sum(std::span<float>) override {}
  void all_reduce_sum(std::span<double>) override {}
  void broadcast(std::span<std::byte>) override {}
  void barrier() override {}
};

// Whether it is true in any of the processes: for decisions that all must take alike.
bool any(Communicator& communicator, bool here);

// Gives every process the values, momenta and averages that rank 0 has.
void share_variables(Communicator& communicator, Variables& variables);

}  // namespace recordpipe
