#include "dataset/pipeline/execute/producer.h"

#include <algorithm>

#include "dataset/pipeline/observe/stage_monitor.h"
#include "recordpipe/pipeline/internal/functions.h"

namespace recordpipe::internal {

void merge_failures(Failures& failures, size_t known) {
  std::ranges::inplace_merge(failures, failures.begin() + static_cast<std::ptrdiff_t>(known), {},
                             &Failure::at);
}

void Producer::observe(const std::shared_ptr<MemoryAccount>& account, StageMonitor* monitor,
                       const ElementOps& ops) {
  monitor_ = monitor;
  ops_ = &ops;
  scratch_.open(account);
}

// Called by the producer of the next operator, which owns `out` as scratch memory.
Failures Producer::produce(std::span<const Ticket> tickets, void* out) {
  Failures failures;
  {
    const ActivityScope scope(monitor_, Activity::computing);
    failures = do_produce(tickets, out);
  }
  if (monitor_) scratch_.set(element_bytes(out, *ops_, tickets.size()));
  return failures;
}

void Producer::begin(std::span<const Ticket> tickets, void* out) {
  const ActivityScope scope(monitor_, Activity::computing);
  do_begin(tickets, out);
}

Failures Producer::produce_part(std::span<const Ticket> tickets, void* out, size_t part) {
  const ActivityScope scope(monitor_, Activity::computing);
  return do_produce_part(tickets, out, part);
}

}  // namespace recordpipe::internal
