// Counts the memory of an iteration's elements and compares it with the user's limit.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "recordpipe/pipeline/memory_use.h"

namespace recordpipe::internal {

// Thread-safe.
class MemoryAccount {
 public:
  explicit MemoryAccount(uint64_t limit = UINT64_MAX) : limit_(limit) {}

  void change(uint64_t from, uint64_t to) {
    const uint64_t now = bytes_.fetch_add(to - from, std::memory_order_relaxed) + to - from;
    if (to <= from) return;
    uint64_t peak = peak_.load(std::memory_order_relaxed);
    while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
    }
  }

  uint64_t limit() const { return limit_; }
  bool is_limited() const { return limit_ != UINT64_MAX; }
  bool has_room_for(uint64_t more) const {
    const uint64_t bytes = bytes_.load(std::memory_order_relaxed);
    return bytes <= limit_ && more <= limit_ - bytes;
  }

  bool allows(uint64_t bytes) const { return bytes <= limit_; }
  // Throws MemoryLimitExceeded if `bytes`, the memory of a single owner, exceeds the limit.
  void check(uint64_t bytes) const;
  // Throws MemoryLimitExceeded if all owners together take more than twice the limit; a temporary
  // excess is smaller.
  void check_total() const;

  MemoryUse use() const {
    const uint64_t bytes = bytes_.load(std::memory_order_relaxed);
    return {bytes, std::max(bytes, peak_.load(std::memory_order_relaxed)), limit_};
  }

 private:
  const uint64_t limit_;
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> peak_{0};
};

// One owner's share of an account. The destructor returns it.
class MemoryCharge {
 public:
  explicit MemoryCharge(std::shared_ptr<MemoryAccount> account = nullptr)
      : account_(std::move(account)) {}
  ~MemoryCharge() { set(0); }
  MemoryCharge(const MemoryCharge&) = delete;
  MemoryCharge& operator=(const MemoryCharge&) = delete;

  void open(std::shared_ptr<MemoryAccount> account) {
    const uint64_t bytes = std::exchange(bytes_, 0);
    if (account_) account_->change(bytes, 0);
    account_ = std::move(account);
    set(bytes);
  }

  void set(uint64_t bytes) {
    if (bytes == bytes_) return;
    if (account_) account_->change(bytes_, bytes);
    bytes_ = bytes;
  }
  void add(uint64_t bytes) { set(bytes_ + bytes); }
  uint64_t bytes() const { return bytes_; }
  // Whether this charge alone is within the limit; if not, check() throws MemoryLimitExceeded.
  bool fits() const { return !account_ || account_->allows(bytes_); }
  void check() const {
    if (account_) account_->check(bytes_);
  }

 private:
  std::shared_ptr<MemoryAccount> account_;
  uint64_t bytes_ = 0;
};

}  // namespace recordpipe::internal
