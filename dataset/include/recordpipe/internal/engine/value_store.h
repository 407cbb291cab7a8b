// Where an operator keeps values that were computed before their tickets were handed on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "recordpipe/internal/engine/memory_account.h"
#include "recordpipe/internal/engine/stage.h"

namespace recordpipe {

// Safe to use from several threads. Values go in and out by swapping, so that their memory goes
// round instead of being allocated anew.
template <Element T>
class ValueStore {
 public:
  // What is in it, used or waiting to be used again, is charged there from now on.
  void charge_to(std::shared_ptr<MemoryAccount> account) { charge_.open(std::move(account)); }

  // Keeps `value` (what is left in it is an older value) and returns the ref for its ticket.
  uint64_t put(T& value) {
    const std::lock_guard lock(mutex_);
    return keep(value);
  }

  // The same for several: the refs go to their tickets.
  void put(std::span<T> values, std::span<Ticket> tickets) {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < values.size(); ++i) tickets[i].ref = keep(values[i]);
  }

  // The same for an element that could not be computed.
  uint64_t put_failure(std::exception_ptr error) {
    T nothing{};
    const uint64_t ref = put(nothing);
    const std::lock_guard lock(mutex_);
    errors_[ref] = std::move(error);
    return ref;
  }

  // The same for the elements of an executor's chunk: tickets with their ids.
  template <class Chunk>
  std::vector<Ticket> put_chunk(const Chunk& chunk) {
    std::vector<Ticket> tickets(chunk.tickets.begin(), chunk.tickets.end());
    put(chunk.values, tickets);
    const std::lock_guard lock(mutex_);
    for (Failure& failure : chunk.failures) {
      errors_[tickets[failure.at].ref] = std::move(failure.error);
    }
    return tickets;
  }

  // Moves the tickets' values to `out`.
  Failures take(std::span<const Ticket> tickets, std::span<T> out) {
    Failures failures;
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < tickets.size(); ++i) {
      const uint64_t ref = tickets[i].ref;
      if (!errors_.empty()) {
        if (auto error = errors_.extract(ref)) failures.push_back({i, std::move(error.mapped())});
      }
      exchange(slots_[ref], out[i]);
      free_.push_back(ref);
    }
    return failures;
  }

  // What `look` returns for the ticket's value, which stays here.
  template <class Look>
  auto look_at(const Ticket& ticket, Look look) {
    const std::lock_guard lock(mutex_);
    return look(std::as_const(slots_[ticket.ref]));
  }

  void discard(std::span<const Ticket> tickets) {
    const std::lock_guard lock(mutex_);
    for (const Ticket& ticket : tickets) {
      T nothing{};
      exchange(slots_[ticket.ref], nothing);
      errors_.erase(ticket.ref);
      free_.push_back(ticket.ref);
    }
  }

 private:
  uint64_t keep(T& value) {
    if (free_.empty()) {
      free_.push_back(slots_.size());
      slots_.emplace_back();
      charge_.add(sizeof(T));
    }
    const uint64_t ref = free_.back();
    free_.pop_back();
    exchange(slots_[ref], value);
    return ref;
  }

  void exchange(T& kept, T& other) {
    charge_.set(charge_.bytes() + heap_bytes(other) - heap_bytes(kept));
    std::swap(kept, other);
  }

  std::mutex mutex_;
  std::deque<T> slots_;
  std::unordered_map<uint64_t, std::exception_ptr> errors_;  // by slot
  std::vector<uint64_t> free_;
  MemoryCharge charge_;
};

// Hands out what is in a store: no work.
template <Element T>
class StoreProducer final : public Producer<T> {
 public:
  explicit StoreProducer(ValueStore<T>& store) : store_(store) {}
  Failures produce(std::span<const Ticket> tickets, std::span<T> out) override {
    return store_.take(tickets, out);
  }

 private:
  ValueStore<T>& store_;
};

// A Stage whose values are computed by the time they are planned.
template <Element T>
class StoreStage : public Stage<T> {
 public:
  void do_discard(std::span<const Ticket> tickets) override { store_.discard(tickets); }
  std::unique_ptr<Producer<T>> make_producer() override {
    return std::make_unique<StoreProducer<T>>(store_);
  }
  bool has_work() const override { return false; }
  void charge_to(const std::shared_ptr<MemoryAccount>& account) override {
    store_.charge_to(account);
  }

 protected:
  ValueStore<T>& store() { return store_; }

  // A ticket for element `i` of an executor's chunk, or for its failure.
  template <class Chunk>
  Ticket keep(const Chunk& chunk, size_t i) {
    std::exception_ptr error = chunk.take_error_at(i);
    const ElementId id = chunk.tickets[i].id;
    return {id, error ? store_.put_failure(std::move(error)) : store_.put(chunk.values[i])};
  }

 private:
  ValueStore<T> store_;
};

}  // namespace recordpipe
