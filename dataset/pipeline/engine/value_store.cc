#include "dataset/pipeline/engine/value_store.h"

#include <utility>

namespace recordpipe::internal {
namespace {

class StoreProducer final : public Producer {
 public:
  explicit StoreProducer(ValueStore& store) : store_(store) {}

 protected:
  Failures do_produce(std::span<const Ticket> tickets, void* out) override {
    return store_.take(tickets, out);
  }

 private:
  ValueStore& store_;
};

}  // namespace

uint64_t ValueStore::put(void* value) {
  const std::lock_guard lock(mutex_);
  return keep(value);
}

uint64_t ValueStore::put_failure(std::exception_ptr error) {
  ElementBuffer nothing(ops_, 1);
  const std::lock_guard lock(mutex_);
  const uint64_t ref = keep(nothing.data());
  errors_[ref] = std::move(error);
  return ref;
}

void ValueStore::put(void* values, std::span<Ticket> tickets, std::span<Failure> failures) {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < tickets.size(); ++i) tickets[i].ref = keep(element_at(values, ops_, i));
  for (Failure& failure : failures) errors_[tickets[failure.at].ref] = std::move(failure.error);
}

Failures ValueStore::take(std::span<const Ticket> tickets, void* out) {
  Failures failures;
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < tickets.size(); ++i) {
    const uint64_t ref = tickets[i].ref;
    if (!errors_.empty()) {
      if (auto error = errors_.extract(ref)) failures.push_back({i, std::move(error.mapped())});
    }
    exchange(slot(ref), element_at(out, ops_, i));
    free_.push_back(ref);
  }
  return failures;
}

void ValueStore::discard(std::span<const Ticket> tickets) {
  if (tickets.empty()) return;
  ElementBuffer nothing(ops_, 1);
  const std::lock_guard lock(mutex_);
  for (const Ticket& ticket : tickets) {
    exchange(slot(ticket.ref), nothing.data());
    ops_.destroy(nothing.data(), 1);
    ops_.construct(nothing.data(), 1);
    errors_.erase(ticket.ref);
    free_.push_back(ticket.ref);
  }
}

uint64_t ValueStore::keep(void* value) {
  if (free_.empty()) {
    const uint64_t first = blocks_.size() * per_block_;
    blocks_.emplace_back(ops_, per_block_);
    charge_.add(per_block_ * ops_.size);
    for (uint64_t i = per_block_; i > 0; --i) free_.push_back(first + i - 1);
  }
  const uint64_t ref = free_.back();
  free_.pop_back();
  exchange(slot(ref), value);
  return ref;
}

void ValueStore::exchange(void* kept, void* other) {
  if (ops_.heap_bytes) {
    charge_.set(charge_.bytes() + ops_.heap_bytes(other, 1) - ops_.heap_bytes(kept, 1));
  }
  ops_.swap(kept, other);
}

std::unique_ptr<Producer> StoreWork::build_producer() {
  return std::make_unique<StoreProducer>(*store_);
}

}  // namespace recordpipe::internal
