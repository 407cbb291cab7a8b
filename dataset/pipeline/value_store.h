// Where an operator keeps values that were computed before their tickets were handed on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "dataset/pipeline/stage.h"

namespace recordpipe {

// Safe to use from several threads. Values go in and out by swapping, so that their memory goes
// round instead of being allocated anew.
template <Element T>
class ValueStore {
 public:
  // Keeps `value` (what is left in it is an older value) and returns the ref for its ticket.
  uint64_t put(T& value) {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
      free_.push_back(slots_.size());
      slots_.emplace_back();
    }
    const uint64_t ref = free_.back();
    free_.pop_back();
    std::swap(slots_[ref], value);
    return ref;
  }

  // Moves the tickets' values to `out`.
  void take(std::span<const Ticket> tickets, std::span<T> out) {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < tickets.size(); ++i) {
      std::swap(slots_[tickets[i].ref], out[i]);
      free_.push_back(tickets[i].ref);
    }
  }

  void discard(std::span<const Ticket> tickets) {
    const std::lock_guard lock(mutex_);
    for (const Ticket& ticket : tickets) {
      slots_[ticket.ref] = T{};
      free_.push_back(ticket.ref);
    }
  }

 private:
  std::mutex mutex_;
  std::deque<T> slots_;
  std::vector<uint64_t> free_;
};

// Hands out what is in a store: no work.
template <Element T>
class StoreProducer final : public Producer<T> {
 public:
  explicit StoreProducer(ValueStore<T>& store) : store_(store) {}
  Produced produce(std::span<const Ticket> tickets, std::span<T> out) override {
    store_.take(tickets, out);
    return {tickets.size()};
  }

 private:
  ValueStore<T>& store_;
};

// A Stage whose values are computed by the time they are planned.
template <Element T>
class StoreStage : public Stage<T> {
 public:
  void discard(std::span<const Ticket> tickets) override { store_.discard(tickets); }
  std::unique_ptr<Producer<T>> make_producer() override {
    return std::make_unique<StoreProducer<T>>(store_);
  }
  bool has_work() const override { return false; }

 protected:
  ValueStore<T>& store() { return store_; }

 private:
  ValueStore<T> store_;
};

}  // namespace recordpipe
