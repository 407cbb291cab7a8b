// An operator that runs: its plan and its work.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "dataset/pipeline/engine/memory_account.h"
#include "dataset/pipeline/engine/plan.h"
#include "dataset/pipeline/engine/producer.h"
#include "recordpipe/internal/element_ops.h"
#include "recordpipe/internal/ticket.h"

namespace recordpipe::internal {

class StageMonitor;

// Makes the producers for a plan's tickets. Operators that change the order only share their
// input's.
class Work {
 public:
  explicit Work(const ElementOps& element) : element_(element) {}
  virtual ~Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  // Whose time and memory it is: the operator's that makes it, not of those that share it.
  void observe(const std::shared_ptr<MemoryAccount>& account, StageMonitor* monitor) {
    if (account_) return;
    account_ = account;
    monitor_ = monitor;
  }

  const ElementOps& element() const { return element_; }
  // The plan and the work outlive the producer.
  std::unique_ptr<Producer> make_producer() {
    std::unique_ptr<Producer> producer = build_producer();
    if (monitor_) producer->observe(account_, monitor_, element_);
    return producer;
  }
  // Whether producing costs enough to be worth another thread.
  virtual bool is_heavy() const = 0;
  // Into how many parts the work of a chunk of these tickets is cut (Producer::begin): more than
  // one where elements are made of others (batch), and then for a single ticket, which fails if one
  // of its parts does.
  virtual size_t parts(std::span<const Ticket> /*tickets*/) const { return 1; }

 protected:
  virtual std::unique_ptr<Producer> build_producer() = 0;

 private:
  const ElementOps& element_;
  std::shared_ptr<MemoryAccount> account_;
  StageMonitor* monitor_ = nullptr;
};

struct Stage {
  std::unique_ptr<Plan> plan;
  std::shared_ptr<Work> work;
  size_t chunk_size = 1;  // elements that make a chunk worth handing to a thread
};

}  // namespace recordpipe::internal
