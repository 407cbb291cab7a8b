// Copies of a network, in one or several processes, that make each step together: the common part
// of towers and GPUs.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "recordpipe/trainer/backend/backend.h"
#include "recordpipe/trainer/backend/replicated/communicator.h"

namespace recordpipe {

// Image i of a process's batch goes to its replica i mod N, as in the tutorials. Losses and counts
// are those of all images of all processes; outputs are those of this process, in batch order.
// Derived classes carry gradients and statistics between the replicas.
class ReplicaRunner : public Runner {
 public:
  void load(const ImageBatch& batch) override;
  // The first call throws Error{invalid_argument}, in all processes, if their variables or batch
  // sizes differ.
  BatchResult forward() final;
  std::vector<float> output(NodeId node) const override;
  size_t count_zeros(NodeId node) const override;
  void trace_to(std::shared_ptr<ChromeTrace> trace) override;

 protected:
  // `options` are those of the whole batch of this process; each of its `replicas` gets an equal
  // share of the images. `processes` and `variables` must outlive this object.
  ReplicaRunner(const Network& network, Variables& variables, const RunnerOptions& options,
                std::vector<std::unique_ptr<Runner>> replicas, Communicator& processes);

  const std::vector<std::unique_ptr<Runner>>& replicas() const { return replicas_; }
  Communicator& processes() const { return processes_; }

 private:
  // forward() of a replica in two parts, for replicas that can compute at the same time.
  virtual void start(Runner& /*replica*/) {}
  virtual BatchResult result_of(Runner& replica) { return replica.forward(); }

  void require_same_start();

  const Network network_;
  Variables& variables_;
  const RunnerOptions options_;
  const std::vector<std::unique_ptr<Runner>> replicas_;
  Communicator& processes_;
  ImageBatch share_;         // of a replica
  bool same_start_ = false;  // whether it was checked
};

// The options of one replica. Throws Error{invalid_argument} if the batch can't be divided into
// `count` parts of equal size; `name` ("towers") is what the message calls them.
RunnerOptions options_of_replica(const RunnerOptions& options, size_t count, const char* name);

// Replaces the sums over this process's `replicas` by the means over the replicas of all processes.
void all_reduce_mean(std::span<float> sums, size_t replicas, Communicator& processes);

}  // namespace recordpipe
