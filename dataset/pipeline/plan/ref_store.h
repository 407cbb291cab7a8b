// Stores the values to which an operator's own tickets refer: tickets of other plans, or numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "dataset/pipeline/execute/memory_account.h"
#include "recordpipe/pipeline/element.h"
#include "recordpipe/pipeline/internal/ticket.h"

namespace recordpipe::internal {

// Stores values by ref. Thread-safe: any thread may produce or discard. Values are swapped in and
// out, so that their memory is reused.
template <class V>
class RefStore {
 public:
  // From now on, charges the memory of the content, in use or kept for reuse, to `account`.
  void charge_to(std::shared_ptr<MemoryAccount> account) { charge_.open(std::move(account)); }

  // Stores `value`, which is swapped for an old value, and returns its ref.
  uint64_t put(V& value) {
    const std::lock_guard lock(mutex_);
    return keep(value);
  }

  // Stores several values and writes the refs to their tickets.
  void put(std::span<V> values, std::span<Ticket> tickets) {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < values.size(); ++i) tickets[i].ref = keep(values[i]);
  }

  // Moves the tickets' values to `out`.
  void take(std::span<const Ticket> tickets, std::span<V> out) {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < tickets.size(); ++i) {
      const uint64_t ref = tickets[i].ref;
      exchange(slots_[ref], out[i]);
      free_.push_back(ref);
    }
  }

  // Returns the result of `look` on the ticket's value, which stays in the store.
  template <class Look>
  auto look_at(const Ticket& ticket, Look look) const {
    const std::lock_guard lock(mutex_);
    return look(slots_[ticket.ref]);
  }

 private:
  uint64_t keep(V& value) {
    if (free_.empty()) {
      free_.push_back(slots_.size());
      slots_.emplace_back();
      charge_.add(sizeof(V));
    }
    const uint64_t ref = free_.back();
    free_.pop_back();
    exchange(slots_[ref], value);
    return ref;
  }

  void exchange(V& kept, V& other) {
    charge_.set(charge_.bytes() + heap_bytes(other) - heap_bytes(kept));
    std::swap(kept, other);
  }

  mutable std::mutex mutex_;
  std::vector<V> slots_;
  std::vector<uint64_t> free_;
  MemoryCharge charge_;
};

// The tickets of an operator's inputs that one ticket of the operator stands for: the rows of a
// batch, the members of a zip. Groups are shared by the plan, which gathers them, and its
// producers, which take them apart.
using TicketGroup = std::vector<Ticket>;
using GatheredTickets = RefStore<TicketGroup>;

}  // namespace recordpipe::internal
