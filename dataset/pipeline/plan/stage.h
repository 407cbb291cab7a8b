// A running operator: its plan and its work.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "dataset/pipeline/execute/memory_account.h"
#include "dataset/pipeline/execute/producer.h"
#include "dataset/pipeline/plan/plan.h"
#include "recordpipe/pipeline/internal/element_ops.h"
#include "recordpipe/pipeline/internal/ticket.h"

namespace recordpipe::internal {

class StageMonitor;

// Makes the producers for a plan's tickets. Operators that only change the order share the Work of
// their input.
class Work {
 public:
  using MakeProducer = std::function<std::unique_ptr<Producer>()>;

  // `is_heavy`: whether producing costs enough to justify another thread. `make` keeps alive what
  // the producers use, except for the plan and the node.
  Work(const ElementOps& element, bool is_heavy, MakeProducer make)
      : element_(element), is_heavy_(is_heavy), make_(std::move(make)) {}
  virtual ~Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  // Sets the monitor for time and memory. Only the first call has an effect: it comes from the
  // operator that makes the Work, later calls from operators that share it.
  void observe(const std::shared_ptr<MemoryAccount>& account, StageMonitor* monitor) {
    if (account_) return;
    account_ = account;
    monitor_ = monitor;
  }

  const ElementOps& element() const { return element_; }
  // The plan and the work outlive the producer.
  std::unique_ptr<Producer> make_producer() {
    std::unique_ptr<Producer> producer = make_();
    if (monitor_) producer->observe(account_, monitor_, element_);
    return producer;
  }
  bool is_heavy() const { return is_heavy_; }
  // The number of parts into which a chunk of these tickets is divided (Producer::begin). More than
  // one only if elements are made of other elements (batch), and only for a single ticket, which
  // fails if one of its parts fails.
  virtual size_t parts(std::span<const Ticket> /*tickets*/) const { return 1; }

 private:
  const ElementOps& element_;
  const bool is_heavy_;
  const MakeProducer make_;
  std::shared_ptr<MemoryAccount> account_;
  StageMonitor* monitor_ = nullptr;
};

struct Stage {
  std::unique_ptr<Plan> plan;
  std::shared_ptr<Work> work;
  size_t chunk_size = 1;  // number of elements in a chunk that is worth a thread
};

}  // namespace recordpipe::internal
