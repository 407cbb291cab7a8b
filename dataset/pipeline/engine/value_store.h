// Where an operator keeps values that were computed before their tickets are handed on.
#pragma once

#include <algorithm>
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
      : ops_(ops), per_block_(std::clamp<size_t>(kBlockBytes / ops.size, 1, kMaxPerBlock)) {}

  // What is in it, used or waiting to be used again, is charged there from now on.
  void charge_to(std::shared_ptr<MemoryAccount> account) { charge_.open(std::move(account)); }

  // Keeps `value` (what is left in it is an older value) and returns the ref for its ticket.
  uint64_t put(void* value);
  // The same for an element that could not be computed.
  uint64_t put_failure(std::exception_ptr error);
  // The same for a row of values, of which `failures` could not be computed: the refs go to their
  // tickets.
  void put(void* values, std::span<Ticket> tickets, std::span<Failure> failures);
  // Moves the tickets' values to `out`.
  Failures take(std::span<const Ticket> tickets, void* out);
  void discard(std::span<const Ticket> tickets);

  const ElementOps& ops() const { return ops_; }

 private:
  static constexpr size_t kBlockBytes = 4096;
  static constexpr size_t kMaxPerBlock = 64;

  uint64_t keep(void* value);
  void* slot(uint64_t ref) { return blocks_[ref / per_block_].at(ref % per_block_); }
  void exchange(void* kept, void* other);

  const ElementOps& ops_;
  const size_t per_block_;  // values
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
