#include "dataset/pipeline/execute/value_store.h"

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
  reserve(1);
  uint64_t ref = 0;
  charge_for(value, 1, [&] { ref = keep(value); });
  return ref;
}

uint64_t ValueStore::put_failure(std::exception_ptr error) {
  ElementBuffer nothing(ops_, 1);
  const uint64_t ref = put(nothing.data());
  const std::lock_guard lock(mutex_);
  errors_[ref] = std::move(error);
  return ref;
}

void ValueStore::put(void* values, std::span<Ticket> tickets, std::span<Failure> failures) {
  if (tickets.empty()) return;
  const uint64_t first = tickets.front().ref;
  const std::lock_guard lock(mutex_);
  reserve(tickets.size());
  charge_for(element_at(values, ops_, first), tickets.back().ref + 1 - first, [&] {
    for (Ticket& ticket : tickets) ticket.ref = keep(element_at(values, ops_, ticket.ref));
  });
  for (Failure& failure : failures) errors_[tickets[failure.at].ref] = std::move(failure.error);
}

Failures ValueStore::take(std::span<const Ticket> tickets, void* out) {
  Failures failures;
  const std::lock_guard lock(mutex_);
  charge_for(out, tickets.size(), [&] {
    for (size_t i = 0; i < tickets.size(); ++i) {
      const uint64_t ref = tickets[i].ref;
      if (!errors_.empty()) {
        if (auto error = errors_.extract(ref)) failures.push_back({i, std::move(error.mapped())});
      }
      move_element(ops_, slot(ref), element_at(out, ops_, i));
      free_.push_back(ref);
    }
  });
  return failures;
}

void ValueStore::discard(std::span<const Ticket> tickets) {
  if (tickets.empty()) return;
  // The values are swapped into this buffer under the lock; its destructor frees them after the
  // lock is released.
  ElementBuffer unwanted(ops_);
  if (ops_.heap_bytes) {
    try {
      unwanted.grow(tickets.size());
    } catch (...) {
      // The values stay until their slots are reused.
    }
  }
  const std::lock_guard lock(mutex_);
  charge_for(unwanted.data(), unwanted.size(), [&] {
    for (size_t i = 0; i < unwanted.size(); ++i) {
      ops_.swap(slot(tickets[i].ref), unwanted.at(i));
    }
  });
  for (const Ticket& ticket : tickets) {
    errors_.erase(ticket.ref);
    free_.push_back(ticket.ref);
  }
}

template <class Move>
void ValueStore::charge_for(const void* row, size_t count, const Move& move) {
  if (!ops_.heap_bytes) return move();
  const uint64_t before = ops_.heap_bytes(row, count);
  move();
  charge_.set(charge_.bytes() + before - ops_.heap_bytes(row, count));
}

void ValueStore::reserve(size_t count) {
  const uint64_t per_block = uint64_t{1} << block_bits_;
  while (free_.size() < count) {
    const uint64_t first = blocks_.size() * per_block;
    blocks_.emplace_back(ops_, per_block);
    charge_.add(per_block * ops_.size);
    for (uint64_t i = per_block; i > 0; --i) free_.push_back(first + i - 1);
  }
}

uint64_t ValueStore::keep(void* value) {
  const uint64_t ref = free_.back();
  free_.pop_back();
  move_element(ops_, value, slot(ref));
  return ref;
}

std::shared_ptr<Work> store_work(std::shared_ptr<ValueStore> store) {
  const ElementOps& ops = store->ops();
  return std::make_shared<Work>(ops, /*is_heavy=*/false, [store = std::move(store)] {
    return std::make_unique<StoreProducer>(*store);
  });
}

}  // namespace recordpipe::internal
