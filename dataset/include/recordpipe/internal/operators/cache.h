// cache: keeps the elements of the first pass in memory for all later passes and iterators.
#pragma once

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "recordpipe/error.h"
#include "recordpipe/internal/engine/executor.h"
#include "recordpipe/internal/engine/file_fingerprints.h"
#include "recordpipe/internal/engine/memory_account.h"
#include "recordpipe/internal/engine/node.h"
#include "recordpipe/internal/engine/stage.h"
#include "recordpipe/internal/operators/cache_contents.h"

namespace recordpipe {

struct CacheOptions {
  // Limit of the elements and what they hold (element_bytes.h). Throws Error{limit_exceeded} at the
  // first element that doesn't fit.
  uint64_t max_bytes = UINT64_MAX;
};

// Order: the input's. The input is always run in epoch 0, once: what is random upstream is drawn
// once and stays, whatever pass fills the cache. Downstream each pass has its own epoch as ever, so
// a shuffle after the cache still shuffles anew. Elements that fail are kept as failing.
//
// The cache belongs to the Dataset that cache() returned, its copies, and the Datasets made from
// it; it is freed with the last of them and of their iterators. All their iterators and passes
// share it: make the Dataset once, before a loop over epochs. A pass that is given up leaves the
// elements it has computed (tf.data throws them away), and any later one continues behind them.
// While several iterators fill the cache at the same time, each of them computes the elements
// itself; the first one to have an element stores it, and nobody waits.
//
// The files that the elements were read from stay open as long as the cache. A file that changes
// later changes no element, and saved states have the fingerprints of the files that filled the
// cache. What ignore_errors skips upstream is reported by the iterator that computed it
// (Iterator::skipped).
//
// Memory: each iterator counts the elements of the cache that it has reached against its own
// memory_limit, whichever iterator computed them, so that a limit is exceeded at the same element
// in all of them. A pipeline that uses the cache twice counts them twice.
//
// Saved: how many elements this pass has handed on. An iterator that is restored over an empty
// cache fills it from the first element.
template <Element T>
requires std::copyable<T>
class CacheStage final : public Stage<T> {
 public:
  CacheStage(std::unique_ptr<Stage<T>> upstream, CacheContents<T>& contents, CacheSource source,
             const StageContext& context)
      : contents_(contents),
        source_(std::move(source)),
        charge_(context.memory),
        chunk_size_(upstream->chunk_size()),
        executor_(std::move(upstream), context) {
    context.files->include(contents_.fingerprints());
  }

  size_t do_plan(std::span<Ticket> out, Wait) override {
    size_t planned = 0;
    do {
      contents_.visit(at_, [&](const Kept& kept) {
        if (planned == out.size() || !charge(kept, /*first=*/planned == 0)) return false;
        out[planned++] = {{nested_epoch(epoch_, kept.id.epoch), kept.id.index},
                          reinterpret_cast<uintptr_t>(&kept)};
        ++at_;
        return true;
      });
    } while (planned == 0 && fetch());
    return planned;
  }

  void do_discard(std::span<const Ticket>) override {}

  void do_restart(uint64_t epoch) override {
    if (stopping_) started_ = false;
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
  using Kept = typename CacheContents<T>::Kept;

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

  // Whether the element may be handed on as far as memory goes; where it is the first of a call,
  // throws if not.
  bool charge(const Kept& kept, bool first) {
    charge_.set(std::max(charge_.bytes(), kept.bytes));
    try {
      charge_.check();
    } catch (const MemoryLimitExceeded&) {
      if (first) throw;
      return false;
    }
    return true;
  }

  // Called where the contents have no element at_: computes the next ones that this stage has not
  // computed. False at the end, and where it is to stop.
  bool fetch() {
    if (contents_.has_ended() || contents_.is_full()) {
      if (at_ < contents_.size()) return true;  // others have added it meanwhile
      if (contents_.is_full()) fail_full();
      if (at_ > contents_.size()) fail_state();
      return false;
    }
    if (!started_) start();
    const auto chunk = executor_.next_with_failures();
    executor_.release(executor_.position());
    if (!chunk.empty()) {
      contents_.add(executor_.position(), chunk, source_);
      return true;
    }
    if (stopping_) return false;
    contents_.end();
    return fetch();
  }

  // Behind the elements that are there.
  void start() {
    executor_.restart(/*epoch=*/0);
    if (stopping_) executor_.request_stop();
    pass_over(executor_, contents_.size());
    started_ = true;
  }

  [[noreturn]] void fail_full() {
    throw Error({.kind = ErrorKind::limit_exceeded,
                 .reason = "cache: element " + std::to_string(contents_.size()) +
                           " doesn't fit in max_bytes=" + std::to_string(contents_.max_bytes()),
                 .hint = "allow more, or cache to a file"});
  }

  CacheContents<T>& contents_;  // the node's
  const CacheSource source_;
  MemoryCharge charge_;  // for the contents, up to the last element that was reached
  const size_t chunk_size_;
  Executor<T> executor_;
  bool started_ = false;  // the executor, which goes on over all passes
  std::atomic<bool> stopping_ = false;
  uint64_t epoch_ = 0;
  uint64_t at_ = 0;
};

template <Element T>
class CacheNode final : public UnaryNode<T> {
 public:
  CacheNode(std::shared_ptr<const Node<T>> upstream, const CacheOptions& options)
      : UnaryNode<T>(std::move(upstream)),
        contents_(std::make_unique<CacheContents<T>>(options.max_bytes)) {}
  std::unique_ptr<Stage<T>> build_stage(const StageContext& context) const override {
    CacheSource source{.fingerprints = std::make_shared<FileFingerprints>(context.files)};
    StageContext input = context;
    input.files = source.fingerprints;
    input.open_files = source.open_files;
    return std::make_unique<CacheStage<T>>(this->upstream().make_stage(input), *contents_,
                                           std::move(source), context);
  }

  PlanDescription describe() const override { return this->described("cache", {}); }

 private:
  const std::unique_ptr<CacheContents<T>> contents_;
};

}  // namespace recordpipe
