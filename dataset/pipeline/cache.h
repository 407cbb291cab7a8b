// cache: keeps the elements of the first pass in memory for those that follow.
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dataset/base/error.h"
#include "dataset/pipeline/executor.h"
#include "dataset/pipeline/memory_account.h"
#include "dataset/pipeline/node.h"
#include "dataset/pipeline/stage.h"

namespace recordpipe {

struct CacheOptions {
  // Elements and what they hold (element_bytes.h). An element more than fits is an
  // Error{limit_exceeded}.
  uint64_t max_bytes = UINT64_MAX;
};

// Order: the input's. The input is always run in epoch 0, once: what is random upstream is drawn
// once and stays, whatever pass fills the cache. Downstream each pass has its own epoch as ever, so
// a shuffle after the cache still shuffles anew. Elements that fail are kept as failing.
//
// A pass that is given up leaves what it has computed; the next one goes on behind that (tf.data
// throws it away). The cache is the iterator's, and goes with it: elements may point into files
// that the iterator holds open.
//
// Saved: how many elements this pass has handed on. After a restore into a fresh iterator the cache
// is filled again from the first element.
template <Element T>
requires std::copyable<T>
class CacheStage final : public Stage<T> {
 public:
  CacheStage(std::unique_ptr<Stage<T>> upstream, const CacheOptions& options,
             const StageContext& context)
      : max_bytes_(options.max_bytes),
        charge_(context.memory),
        chunk_size_(upstream->chunk_size()),
        executor_(std::move(upstream), context) {}

  size_t do_plan(std::span<Ticket> out, Wait) override {
    while (at_ >= kept_.size()) {
      if (!fetch()) return 0;
    }
    size_t planned = 0;
    for (; planned < out.size() && at_ < kept_.size(); ++planned) {
      const Kept& kept = kept_[at_++];
      out[planned] = {{nested_epoch(epoch_, kept.id.epoch), kept.id.index},
                      reinterpret_cast<uintptr_t>(&kept)};
    }
    return planned;
  }

  void do_discard(std::span<const Ticket>) override {}

  void do_restart(uint64_t epoch) override {
    if (stopping_ && !input_ended_) {
      executor_.restart(0);
      pass_over(executor_, kept_.size());
    }
    stopping_ = false;
    epoch_ = epoch;
    at_ = 0;
  }

  void save(PlanState& state) const override { state.reset(0).numbers = {at_}; }

  void do_restore(const PlanState& state, uint64_t epoch) override {
    PlanNumbers numbers(state, 0);
    do_restart(epoch);
    at_ = numbers.next();
  }

  void do_request_stop() override {
    stopping_ = true;
    executor_.request_stop();
  }

  std::unique_ptr<Producer<T>> make_producer() override { return std::make_unique<Copies>(); }
  bool has_work() const override { return !std::is_trivially_copyable_v<T>; }
  size_t chunk_size() const override { return chunk_size_; }

 private:
  // Never moved, nor changed once a ticket for it is handed on: read without a lock.
  struct Kept {
    ElementId id;
    T value{};
    std::exception_ptr error;
  };

  class Copies final : public Producer<T> {
   public:
    Failures produce(std::span<const Ticket> tickets, std::span<T> out) override {
      Failures failures;
      for (size_t i = 0; i < tickets.size(); ++i) {
        const Kept& kept = *reinterpret_cast<const Kept*>(static_cast<uintptr_t>(tickets[i].ref));
        try {
          if (kept.error) std::rethrow_exception(kept.error);
          out[i] = kept.value;
        } catch (...) {
          failures.push_back({i, std::current_exception()});
        }
      }
      return failures;
    }
  };

  // Takes the input's next elements in; false at its end.
  bool fetch() {
    if (failure_) std::rethrow_exception(failure_);
    if (!input_ended_) {
      const auto chunk = executor_.next_with_failures();
      executor_.release(executor_.position());
      for (size_t i = 0; i < chunk.size() && !failure_; ++i) {
        keep({chunk.tickets[i].id, std::move(chunk.values[i]), chunk.take_error_at(i)});
      }
      if (!chunk.empty()) return true;
      input_ended_ = !stopping_;
    }
    if (input_ended_ && at_ > kept_.size()) fail_state();
    return false;
  }

  void keep(Kept kept) {
    charge_.add(sizeof(Kept) + heap_bytes(kept.value));
    try {
      if (charge_.bytes() > max_bytes_) {
        throw Error({.kind = ErrorKind::limit_exceeded,
                     .reason = "cache: element " + std::to_string(kept_.size()) +
                               " doesn't fit in max_bytes=" + std::to_string(max_bytes_),
                     .hint = "allow more, or cache to a file"});
      }
      charge_.check();
    } catch (...) {
      failure_ = std::current_exception();  // for good: what comes next would follow a gap
      return;
    }
    kept_.push_back(std::move(kept));
  }

  const uint64_t max_bytes_;
  MemoryCharge charge_;  // for kept_
  const size_t chunk_size_;
  Executor<T> executor_;  // never restarted: it stands behind the last of kept_
  std::deque<Kept> kept_;
  bool input_ended_ = false;
  std::atomic<bool> stopping_ = false;
  std::exception_ptr failure_;  // there is no room for the next
  uint64_t epoch_ = 0;
  uint64_t at_ = 0;
};

template <Element T>
class CacheNode final : public UnaryNode<T> {
 public:
  CacheNode(std::shared_ptr<const Node<T>> upstream, const CacheOptions& options)
      : UnaryNode<T>(std::move(upstream)), options_(options) {}
  std::unique_ptr<Stage<T>> build_stage(const StageContext& context) const override {
    return std::make_unique<CacheStage<T>>(this->upstream().make_stage(context), options_, context);
  }

  PlanDescription describe() const override { return this->described("cache", {}); }

 private:
  CacheOptions options_;
};

}  // namespace recordpipe
