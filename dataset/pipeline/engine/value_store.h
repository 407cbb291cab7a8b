// Where an operator keeps values that were computed before their tickets are handed on.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "dataset/pipeline/engine/element_buffer.h"
#include "dataset/pipeline/engine/memory_account.h"
#include "dataset/pipeline/engine/plan.h"
#include "dataset/pipeline/engine/stage.h"
#include "recordpipe/internal/element_ops.h"
#include "recordpipe/internal/ticket.h"

namespace recordpipe::internal {

// Safe to use from several threads. Values go in and out by swapping, so that their memory goes
// round instead of being allocated anew.
class ValueStore {
 public:
  explicit ValueStore(const ElementOps& ops)
      : ops_(ops),
        block_bits_(std::bit_width(std::clamp<size_t>(kBlockBytes / ops.size, 1, kMaxPerBlock)) -
                    1) {}

  // What is in it, used or waiting to be used again, is charged there from now on.
  void charge_to(std::shared_ptr<MemoryAccount> account) { charge_.open(std::move(account)); }

  // Keeps `value` (what is left in it may be an older value) and returns the ref for its ticket.
  uint64_t put(void* value);
  // The same for an element that could not be computed.
  uint64_t put_failure(std::exception_ptr error);
  // The same for several of a row of values: a ticket's ref is its value's place in the row, in
  // ascending order, and becomes the ref in the store. `failures` are those of the tickets whose
  // values could not be computed.
  void put(void* values, std::span<Ticket> tickets, std::span<Failure> failures);
  // Moves the tickets' values to `out`.
  Failures take(std::span<const Ticket> tickets, void* out);
  void discard(std::span<const Ticket> tickets);

  const ElementOps& ops() const { return ops_; }

 private:
  static constexpr size_t kBlockBytes = 4096;
  static constexpr size_t kMaxPerBlock = 64;

  // Calls `move`, which moves values between the store and a row of `count` values outside, and
  // charges the difference.
  template <class Move>
  void charge_for(const void* row, size_t count, const Move& move);
  // So many free slots.
  void reserve(size_t count);
  // Takes one of them.
  uint64_t keep(void* value);
  void* slot(uint64_t ref) {
    return blocks_[ref >> block_bits_].at(ref & ((uint64_t{1} << block_bits_) - 1));
  }

  const ElementOps& ops_;
  const int block_bits_;  // the binary logarithm of a block's values: no division for each value
  std::mutex mutex_;
  std::vector<ElementBuffer> blocks_;
  std::unordered_map<uint64_t, std::exception_ptr> errors_;  // by slot
  std::vector<uint64_t> free_;
  MemoryCharge charge_;
};

// Hands out what is in a store: no work.
class StoreWork final : public Work {
 public:
  explicit StoreWork(std::shared_ptr<ValueStore> store)
      : Work(store->ops()), store_(std::move(store)) {}
  bool is_heavy() const override { return false; }

 protected:
  std::unique_ptr<Producer> build_producer() override;

 private:
  std::shared_ptr<ValueStore> store_;
};

// A plan whose values are computed by the time they are planned.
class StorePlan : public Plan {
 public:
  explicit StorePlan(std::shared_ptr<ValueStore> store) : store_(std::move(store)) {}
  void discard(std::span<const Ticket> tickets) override { store_->discard(tickets); }

 protected:
  void charge_to(const std::shared_ptr<MemoryAccount>& account) override {
    store_->charge_to(account);
  }
  ValueStore& store() { return *store_; }

 private:
  std::shared_ptr<ValueStore> store_;
};

// Such a stage: its plan is a P, made of a store for values of this type and `arguments`.
template <class P, class... Arguments>
Stage make_store_stage(const ElementOps& ops, size_t chunk_size, Arguments&&... arguments) {
  auto store = std::make_shared<ValueStore>(ops);
  auto plan = std::make_unique<P>(store, std::forward<Arguments>(arguments)...);
  return {std::move(plan), std::make_shared<StoreWork>(std::move(store)), chunk_size};
}

}  // namespace recordpipe::internal
