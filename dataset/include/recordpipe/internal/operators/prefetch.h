// prefetch: a thread of its own that keeps finished elements ready.
//
// In order; changes nothing but the time, and so is no part of the plan: a state that was saved
// with one can be restored without it, or with another depth. No random access. Saved: the input's
// place at the next element to be handed on, however far the thread is ahead of it.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "recordpipe/error.h"
#include "recordpipe/internal/engine/executor.h"
#include "recordpipe/internal/engine/node.h"
#include "recordpipe/internal/engine/ring_buffer.h"
#include "recordpipe/internal/engine/stage.h"
#include "recordpipe/internal/engine/value_store.h"
#include "recordpipe/internal/operators/prefetch_depth.h"

namespace recordpipe {

// The thread runs what is upstream through an Executor and stops when `depth` elements wait; the
// reader waits only when there are none. Being no pool thread, it may wait for the pool.
template <Element T>
class PrefetchStage final : public StoreStage<T> {
 public:
  PrefetchStage(std::unique_ptr<Stage<T>> upstream, size_t depth, const StageContext& context)
      : chunk_size_(upstream->chunk_size()),
        depth_(depth),
        memory_(context.memory),
        monitor_(context.stage),
        executor_(std::move(upstream), context) {}

  ~PrefetchStage() override { stop(); }

  size_t do_plan(std::span<Ticket> out, Wait wait) override {
    if (!thread_.joinable()) start();
    std::unique_lock lock(mutex_);
    if (wait == Wait::no && ready_.empty()) return 0;
    if (wait == Wait::yes) depth_.came(ready_.size());
    if (ready_.empty() && !ended_ && !stopping_) {
      const ActivityScope scope(monitor_ ? monitor_->consumer() : nullptr,
                                Activity::waiting_for_input);
      changed_.wait(lock, [&] { return !ready_.empty() || ended_ || stopping_; });
    }
    if (ready_.empty()) {
      if (error_) std::rethrow_exception(error_);
      return 0;
    }
    const size_t planned = std::min(out.size(), ready_.size());
    for (Ticket& ticket : out.first(planned)) {
      ticket = ready_.front();
      ready_.pop_front();
    }
    changed_.notify_all();
    handed_on_ += planned;
    executor_.release(handed_on_);
    return planned;
  }

  uint64_t do_advance(uint64_t count) override {
    if (thread_.joinable()) return Stage<T>::do_advance(count);
    const uint64_t passed = executor_.advance(count);
    handed_on_ += passed;
    return passed;
  }

  void do_restart(uint64_t epoch) override {
    reset();
    handed_on_ = 0;
    executor_.restart(epoch);
  }

  // A place in what is upstream, however far the thread has got: the same with any buffer, or none.
  void save(PlanState& state) const override { executor_.save(handed_on_, state); }

  void do_restore(const PlanState& state, uint64_t epoch) override {
    reset();
    handed_on_ = 0;
    executor_.restore(state, epoch);
  }

  void do_request_stop() override {
    executor_.request_stop();
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }

  size_t chunk_size() const override { return std::min(chunk_size_, depth_.most()); }

 private:
  void start() {
    try {
      thread_ = std::thread([this] { fetch(); });
    } catch (const std::system_error& error) {
      throw system_error(error.code().value(), "start a prefetch thread", {});
    }
  }

  // One element is kept ready whatever memory it takes; more where the next chunk fits beside them.
  bool has_room() {
    return ready_.empty() ||
           (ready_.size() < depth_.depth() && memory_->has_room_for(executor_.largest_chunk()));
  }

  void fetch() {
    if (monitor_) monitor_->name_thread("prefetch");
    std::exception_ptr error;
    try {
      while (fetch_chunk()) {
      }
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    error_ = error;
    ended_ = true;
    changed_.notify_all();
  }

  // False at the end, or when it is to stop.
  bool fetch_chunk() {
    const auto chunk = executor_.next_with_failures();
    for (size_t i = 0; i < chunk.size(); ++i) {
      std::unique_lock lock(mutex_);
      if (!has_room() && !stopping_) {
        const ActivityScope scope(monitor_, Activity::waiting_for_room);
        changed_.wait(lock, [&] { return has_room() || stopping_; });
      }
      if (stopping_) return false;
      ready_.push_back(this->keep(chunk, i));
      changed_.notify_all();
    }
    return !chunk.empty();
  }

  void reset() {
    stop();
    for (; !ready_.empty(); ready_.pop_front()) this->discard({&ready_.front(), 1});
    const std::lock_guard lock(mutex_);  // request_stop() may come at any time
    ended_ = stopping_ = false;
    error_ = nullptr;
  }

  void stop() {
    if (!thread_.joinable()) return;
    do_request_stop();
    thread_.join();
  }

  const size_t chunk_size_;
  PrefetchDepth depth_;  // guarded by mutex_, as all below
  const std::shared_ptr<MemoryAccount> memory_;
  StageMonitor* const monitor_;
  Executor<T> executor_;  // the thread's, while there is one
  std::mutex mutex_;
  std::condition_variable changed_;
  RingBuffer<Ticket> ready_;
  uint64_t handed_on_ = 0;  // elements
  bool ended_ = false;
  bool stopping_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

template <Element T>
class PrefetchNode final : public UnaryNode<T> {
 public:
  PrefetchNode(std::shared_ptr<const Node<T>> upstream, size_t depth)
      : UnaryNode<T>(std::move(upstream)), depth_(depth) {}
  std::unique_ptr<Stage<T>> build_stage(const StageContext& context) const override {
    return std::make_unique<PrefetchStage<T>>(this->upstream().make_stage(context), depth_,
                                              context);
  }

  PlanDescription describe() const override {
    PlanDescription plan = this->described("prefetch", {{"buffer_size", describe_depth()}});
    plan.is_free = true;
    return plan;
  }

 private:
  std::string describe_depth() const {
    return depth_ == kAutotune ? "auto" : std::to_string(depth_);
  }

  size_t depth_;
};

}  // namespace recordpipe
