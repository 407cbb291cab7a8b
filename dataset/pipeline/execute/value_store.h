// Stores values that an operator computes before it returns their tickets.
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

#include "dataset/pipeline/execute/element_buffer.h"
#include "dataset/pipeline/execute/memory_account.h"
#include "dataset/pipeline/plan/plan.h"
#include "dataset/pipeline/plan/stage.h"
#include "recordpipe/pipeline/internal/element_ops.h"
#include "recordpipe/pipeline/internal/ticket.h"

namespace recordpipe::internal {

// Thread-safe. Values are swapped in and out, so that their memory is reused.
class ValueStore {
 public:
  explicit ValueStore(const ElementOps& ops)
      : ops_(ops),
        block_bits_(std::bit_width(std::clamp<size_t>(kBlockBytes / ops.size, 1, kMaxPerBlock)) -
                    1) {}

  // From now on, charges the memory of the content, in use or kept for reuse, to `account`.
  void charge_to(std::shared_ptr<MemoryAccount> account) { charge_.open(std::move(account)); }

  // Stores `value`, which may be swapped for an old value, and returns the ref for its ticket.
  uint64_t put(void* value);
  // Stores the error of a failed element and returns the ref for its ticket.
  uint64_t put_failure(std::exception_ptr error);
  // Stores several values of an array. On entry, a ticket's ref is the index of its value in the
  // array, in ascending order; on return, it is the ref in the store. `failures` are the failures
  // of these elements, indexed like `tickets`.
  void put(void* values, std::span<Ticket> tickets, std::span<Failure> failures);
  // Moves the tickets' values to `out`, and returns the failures.
  Failures take(std::span<const Ticket> tickets, void* out);
  void discard(std::span<const Ticket> tickets);

  const ElementOps& ops() const { return ops_; }

 private:
  static constexpr size_t kBlockBytes = 4096;
  static constexpr size_t kMaxPerBlock = 64;

  // Calls `move`, which moves values between the store and the outside array `row` of `count`
  // values, and charges the difference in memory.
  template <class Move>
  void charge_for(const void* row, size_t count, const Move& move);
  // Makes sure that `count` slots are free.
  void reserve(size_t count);
  // Stores `value` in a free slot and returns its ref.
  uint64_t keep(void* value);
  void* slot(uint64_t ref) {
    return blocks_[ref >> block_bits_].at(ref & ((uint64_t{1} << block_bits_) - 1));
  }

  const ElementOps& ops_;
  const int block_bits_;  // log2 of the values per block: avoids a division for each value
  std::mutex mutex_;
  std::vector<ElementBuffer> blocks_;
  std::unordered_map<uint64_t, std::exception_ptr> errors_;  // by slot
  std::vector<uint64_t> free_;
  MemoryCharge charge_;
};

// Returns the values of a store; computes nothing.
std::shared_ptr<Work> store_work(std::shared_ptr<ValueStore> store);

// A plan whose values are computed before its tickets are returned.
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

// Makes the stage of a StorePlan of type P, which is constructed from a store for values of type
// `ops`, and `arguments`.
template <class P, class... Arguments>
Stage make_store_stage(const ElementOps& ops, size_t chunk_size, Arguments&&... arguments) {
  auto store = std::make_shared<ValueStore>(ops);
  auto plan = std::make_unique<P>(store, std::forward<Arguments>(arguments)...);
  return {std::move(plan), store_work(std::move(store)), chunk_size};
}

}  // namespace recordpipe::internal
