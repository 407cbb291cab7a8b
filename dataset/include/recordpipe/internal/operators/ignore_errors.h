// ignore_errors: leaves out elements that can't be computed, up to a limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "recordpipe/error.h"
#include "recordpipe/internal/engine/executor.h"
#include "recordpipe/internal/engine/memory_account.h"
#include "recordpipe/internal/engine/node.h"
#include "recordpipe/internal/engine/skip_log.h"
#include "recordpipe/internal/engine/stage.h"
#include "recordpipe/internal/engine/value_store.h"
#include "recordpipe/parameter.h"

namespace recordpipe {

// How much may be skipped in one pass over the input before that is an error itself.
struct IgnoreErrorsOptions {
  // Elements.
  uint64_t max_count = UINT64_MAX;
  // Elements skipped by elements seen, 0 to 1.
  double max_rate = 1;
  // A rate counts when so many elements have been seen.
  uint64_t rate_after = 100;
};

// Skips elements whose computing, wherever upstream, threw recordpipe::Error: a record whose CRC
// doesn't fit, an Example without the wanted feature. Anything else that is thrown (bad_alloc, your
// own exceptions) is an error as ever.
//
// A skipped element moves no other: upstream it has its place, its id and its draws as if it were
// good, in a shuffle's buffer or a batch too (a batch with a bad row is skipped as a whole). Only
// operators downstream see that it is gone. So it stands best late, after shuffle, before batch.
//
// What ends its source is not skipped, for there is nothing after it: a missing file, damaged
// framing, damage in a compressed file. Where each file is an input of its own (flat_map or
// interleave over paths), only that file ends there, and the others go on.
//
// Past a limit it throws Error{limit_exceeded}, which names the limit and the last cause, after the
// elements before it. Saved: how many were seen and skipped in this pass, and the input's place.
template <Element T>
class IgnoreErrorsStage final : public StoreStage<T> {
 public:
  IgnoreErrorsStage(std::unique_ptr<Stage<T>> upstream, const IgnoreErrorsOptions& options,
                    const StageContext& context)
      : options_(options),
        chunk_size_(upstream->chunk_size()),
        log_(context.skipped),
        executor_(std::move(upstream), context) {}

  size_t do_plan(std::span<Ticket> out, Wait) override {
    size_t planned = 0;
    while (planned == 0) {
      if (failure_) std::rethrow_exception(failure_);
      if (at_ == chunk_.size()) {
        at_ = 0;
        chunk_ = {};  // first: the executor may throw
        chunk_ = executor_.next_with_failures();
        executor_.release(executor_.position());
        if (chunk_.empty()) return 0;
      }
      for (; at_ < chunk_.size() && planned < out.size() && !failure_; ++at_) {
        ++seen_;
        auto error = chunk_.take_error_at(at_);
        if (!error) {
          out[planned++] = this->keep(chunk_, at_);
        } else if (!skip(error)) {
          out[planned++] = {chunk_.tickets[at_].id, this->store().put_failure(std::move(error))};
        }
        check_limits();
      }
    }
    return planned;
  }

  void do_restart(uint64_t epoch) override {
    forget();
    executor_.restart(epoch);
  }

  void save(PlanState& state) const override {
    state.reset(1).numbers = {seen_, skipped_};
    executor_.save(executor_.position() + at_, state.inputs[0]);
  }

  void do_restore(const PlanState& state, uint64_t epoch) override {
    PlanNumbers numbers(state, 1);
    forget();
    seen_ = numbers.next();
    skipped_ = numbers.next(seen_);
    restore_place(executor_, numbers.input(), epoch);
  }

  void do_request_stop() override { executor_.request_stop(); }

  size_t chunk_size() const override { return chunk_size_; }

 private:
  bool skip(const std::exception_ptr& error) {
    try {
      std::rethrow_exception(error);
    } catch (const MemoryLimitExceeded&) {
      return false;
    } catch (const Error& cause) {
      ++skipped_;
      log_->add(cause);
      last_cause_ = cause;
      return true;
    } catch (...) {
      return false;
    }
  }

  void check_limits() {
    if (skipped_ == 0) return;
    if (skipped_ > options_.max_count) {
      fail("max_count=" + std::to_string(options_.max_count));
    } else if (seen_ >= options_.rate_after &&
               static_cast<double>(skipped_) > options_.max_rate * static_cast<double>(seen_)) {
      fail("max_rate=" + shortest_text(options_.max_rate));
    }
  }

  void fail(const std::string& limit) {
    Error::Parts parts{.kind = ErrorKind::limit_exceeded,
                       .reason = "skipped " + std::to_string(skipped_) + " of " +
                                 std::to_string(seen_) + " elements, more than " + limit +
                                 " allows",
                       .hint = "see what was skipped, or allow more"};
    if (last_cause_) {
      parts.path = last_cause_->path();
      parts.offset = last_cause_->offset();
      parts.reason += "; the last one: " + last_cause_->reason();
    }
    failure_ = std::make_exception_ptr(Error(std::move(parts)));
  }

  void forget() {
    chunk_ = {};
    at_ = 0;
    seen_ = skipped_ = 0;
    last_cause_.reset();
    failure_ = nullptr;
  }

  const IgnoreErrorsOptions options_;
  const size_t chunk_size_;
  const std::shared_ptr<SkipLog> log_;
  Executor<T> executor_;
  typename Executor<T>::Chunk chunk_;
  size_t at_ = 0;
  uint64_t seen_ = 0;  // in this pass
  uint64_t skipped_ = 0;
  std::optional<Error> last_cause_;
  std::exception_ptr failure_;  // a limit is exceeded
};

template <Element T>
class IgnoreErrorsNode final : public UnaryNode<T> {
 public:
  IgnoreErrorsNode(std::shared_ptr<const Node<T>> upstream, const IgnoreErrorsOptions& options)
      : UnaryNode<T>(std::move(upstream)), options_(options) {}
  std::unique_ptr<Stage<T>> build_stage(const StageContext& context) const override {
    return std::make_unique<IgnoreErrorsStage<T>>(this->upstream().make_stage(context), options_,
                                                  context);
  }

  PlanDescription describe() const override {
    const bool any_count = options_.max_count == UINT64_MAX;
    return this->described("ignore_errors",
                           {{"max_count", any_count ? "any" : std::to_string(options_.max_count)},
                            {"max_rate", shortest_text(options_.max_rate)},
                            {"rate_after", options_.rate_after}});
  }

 private:
  IgnoreErrorsOptions options_;
};

}  // namespace recordpipe
