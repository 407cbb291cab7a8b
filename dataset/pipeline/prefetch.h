// prefetch: a thread of its own that keeps finished elements ready.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>

#include "dataset/pipeline/executor.h"
#include "dataset/pipeline/stage.h"
#include "dataset/pipeline/value_store.h"

namespace recordpipe {

// The thread runs what is upstream through an Executor and stops when `depth` elements wait; the
// reader waits only when there are none. Being no pool thread, it may wait for the pool.
template <Element T>
class PrefetchStage final : public StoreStage<T> {
 public:
  PrefetchStage(std::unique_ptr<Stage<T>> upstream, size_t depth, const StageContext& context)
      : chunk_size_(upstream->chunk_size()),
        depth_(depth),
        executor_(std::move(upstream), context) {}

  ~PrefetchStage() override { stop(); }

  size_t plan(std::span<Ticket> out) override {
    if (!thread_.joinable()) start();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !ready_.empty() || ended_; });
    if (ready_.empty()) {
      if (error_) std::rethrow_exception(error_);
      return 0;
    }
    const size_t planned = std::min(out.size(), ready_.size());
    std::copy_n(ready_.begin(), planned, out.begin());
    ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(planned));
    changed_.notify_all();
    return planned;
  }

  void restart(uint64_t epoch) override {
    stop();
    for (const Ticket& ticket : ready_) this->discard({&ticket, 1});
    ready_.clear();
    ended_ = false;
    error_ = nullptr;
    executor_.restart(epoch);
  }

  size_t chunk_size() const override { return std::min(chunk_size_, depth_); }

 private:
  void start() {
    thread_ = std::jthread([this](std::stop_token stopped) {
      std::exception_ptr error;
      try {
        run(stopped);
      } catch (...) {
        error = std::current_exception();
      }
      const std::lock_guard lock(mutex_);
      error_ = error;
      ended_ = true;
      changed_.notify_all();
    });
  }

  void run(const std::stop_token& stopped) {
    while (!stopped.stop_requested()) {
      const auto chunk = executor_.next();
      if (chunk.empty()) return;
      for (size_t i = 0; i < chunk.tickets.size(); ++i) {
        std::unique_lock lock(mutex_);
        if (!changed_.wait(lock, stopped, [&] { return ready_.size() < depth_; })) return;
        ready_.push_back({chunk.tickets[i].id, this->store().put(chunk.values[i])});
        changed_.notify_all();
      }
    }
  }

  void stop() {
    if (!thread_.joinable()) return;
    thread_.request_stop();
    thread_.join();
  }

  const size_t chunk_size_;
  const size_t depth_;
  Executor<T> executor_;  // the thread's, while there is one
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Ticket> ready_;
  bool ended_ = false;
  std::exception_ptr error_;
  std::jthread thread_;
};

template <Element T>
class PrefetchNode final : public UnaryNode<T> {
 public:
  PrefetchNode(std::shared_ptr<const Node<T>> upstream, size_t depth)
      : UnaryNode<T>(std::move(upstream)), depth_(depth) {}
  std::unique_ptr<Stage<T>> make_stage(const StageContext& context) const override {
    return std::make_unique<PrefetchStage<T>>(this->upstream().make_stage(context), depth_,
                                              context);
  }

 private:
  size_t depth_;
};

}  // namespace recordpipe
