#include "dataset/pipeline/state/plan_snapshots.h"

#include <algorithm>
#include <utility>

namespace recordpipe::internal {
namespace {

size_t size_of(const PlanState& state) {
  size_t size = state.numbers.size();
  for (const PlanState& input : state.inputs) size += size_of(input);
  return size;
}

uint64_t bytes_of(const PlanState& state) {
  uint64_t bytes = state.numbers.capacity() * sizeof(uint64_t);
  for (const PlanState& input : state.inputs) bytes += sizeof(PlanState) + bytes_of(input);
  return bytes;
}

}  // namespace

void PlanSnapshots::charge_to(std::shared_ptr<MemoryAccount> account) {
  const std::lock_guard lock(mutex_);
  charge_.open(std::move(account));
}

void PlanSnapshots::start(const Plan& plan, uint64_t position) {
  const std::lock_guard lock(mutex_);
  snapshots_.clear();
  released_ = position;
  keep(plan, position);
}

void PlanSnapshots::take(const Plan& plan, uint64_t position) {
  if (++chunks_ < interval_ || !plan.can_save()) return;
  const std::lock_guard lock(mutex_);
  while (snapshots_.size() > 1 && snapshots_[1].position <= released_) snapshots_.pop_front();
  keep(plan, position);
}

void PlanSnapshots::release(uint64_t position) {
  const std::lock_guard lock(mutex_);
  released_ = position;
}

void PlanSnapshots::save(uint64_t position, PlanState& state) const {
  const std::lock_guard lock(mutex_);
  size_t last = snapshots_.size() - 1;
  while (snapshots_[last].position > position) --last;
  state = snapshots_[last].state;
  state.passed_over += position - snapshots_[last].position;
}

void PlanSnapshots::keep(const Plan& plan, uint64_t position) {
  Snapshot& snapshot = snapshots_.add_back();
  snapshot.position = position;
  const uint64_t before = bytes_of(snapshot.state);  // of a reused state
  plan.save(snapshot.state);
  charge_.set(charge_.bytes() - before + bytes_of(snapshot.state));
  // A chunk has about 64 source elements or more, so at most one number is copied per element.
  interval_ = std::max<size_t>(kMinInterval, size_of(snapshot.state) / 64);
  chunks_ = 0;
}

}  // namespace recordpipe::internal
