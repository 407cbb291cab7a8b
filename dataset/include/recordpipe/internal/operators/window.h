// window: runs of elements, which may overlap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "recordpipe/internal/engine/executor.h"
#include "recordpipe/internal/engine/memory_account.h"
#include "recordpipe/internal/engine/node.h"
#include "recordpipe/internal/engine/stage.h"
#include "recordpipe/internal/engine/value_store.h"

namespace recordpipe {

// By default one starts where the one before ends, and the last may be shorter.
//
// Window k holds `size` elements from k * shift on; those at the end of the input are shorter, or
// dropped. In order, with the ids {epoch, k}. A window with an element that failed fails.
//
// A window is a std::vector: tf.data's are datasets, only because its elements must be tensors of
// one shape; here each would cost a pipeline, to be batched again at once.
//
// Saved: k, and the input's place at the window's first element; what it holds is computed again.
template <Element T>
requires std::copyable<T>
class WindowStage final : public StoreStage<std::vector<T>> {
 public:
  WindowStage(std::unique_ptr<Stage<T>> upstream, size_t size, size_t shift, bool drop_remainder,
              const StageContext& context)
      : size_(size),
        shift_(shift),
        drop_remainder_(drop_remainder),
        chunk_size_(std::max<size_t>(1, upstream->chunk_size() / shift)),
        charge_(context.memory),
        executor_(std::move(upstream), context) {}

  size_t do_plan(std::span<Ticket> out, Wait) override {
    size_t planned = 0;
    try {
      for (; planned < out.size(); ++planned) {
        if (planned > 0 && next_may_be_long()) break;  // what is there doesn't wait for it
        if (!gather()) break;
        out[planned] = {{epoch_, next_++}, keep_window()};
        unwanted_ = shift_;
        for (; unwanted_ > 0 && !elements_.empty(); --unwanted_) {
          charge_.set(charge_.bytes() - bytes_of(elements_.front()));
          elements_.pop_front();
        }
      }
    } catch (...) {
      if (planned == 0) throw;  // else thrown again by the next call
    }
    return planned;
  }

  void do_restart(uint64_t epoch) override {
    forget(epoch);
    executor_.restart(epoch);
  }

  void save(PlanState& state) const override {
    state.reset(1).numbers = {next_, unwanted_};
    executor_.save(first_element(), state.inputs[0]);
  }

  void do_restore(const PlanState& state, uint64_t epoch) override {
    PlanNumbers numbers(state, 1);
    forget(epoch);
    next_ = numbers.next();
    unwanted_ = static_cast<size_t>(numbers.next(shift_));
    restore_place(executor_, numbers.input(), epoch);
  }

  void do_request_stop() override { executor_.request_stop(); }

  size_t chunk_size() const override { return chunk_size_; }

 private:
  struct Kept {
    T value{};
    std::exception_ptr error;
  };

  static uint64_t bytes_of(const Kept& kept) { return sizeof(Kept) + heap_bytes(kept.value); }

  uint64_t first_element() const { return executor_.position() + at_ - elements_.size(); }

  // The next window wants more than what is at hand.
  bool next_may_be_long() const {
    return elements_.size() + (chunk_.size() - at_) < size_ + unwanted_;
  }

  // Has elements_ hold the next window; false where there is none.
  bool gather() {
    while (elements_.size() < size_) {
      if (at_ == chunk_.size()) {
        executor_.release(first_element());
        at_ = 0;
        chunk_ = {};  // first: the executor may throw
        chunk_ = executor_.next_with_failures();
        if (chunk_.empty()) return !drop_remainder_ && !elements_.empty();
      }
      if (unwanted_ > 0) {
        --unwanted_;
      } else {
        elements_.push_back({std::move(chunk_.values[at_]), chunk_.take_error_at(at_)});
        charge_.add(bytes_of(elements_.back()));
      }
      ++at_;
    }
    return true;
  }

  uint64_t keep_window() {
    std::vector<T> window;
    window.reserve(elements_.size());
    for (const Kept& element : elements_) {
      if (element.error) return this->store().put_failure(element.error);
      window.push_back(element.value);
    }
    return this->store().put(window);
  }

  void forget(uint64_t epoch) {
    chunk_ = {};
    at_ = 0;
    elements_.clear();
    charge_.set(0);
    unwanted_ = 0;
    epoch_ = epoch;
    next_ = 0;
  }

  const size_t size_;
  const size_t shift_;
  const bool drop_remainder_;
  const size_t chunk_size_;
  MemoryCharge charge_;  // for elements_
  Executor<T> executor_;
  typename Executor<T>::Chunk chunk_;
  size_t at_ = 0;
  std::deque<Kept> elements_;  // from the next window's first on
  size_t unwanted_ = 0;        // inputs before it
  uint64_t epoch_ = 0;
  uint64_t next_ = 0;  // window
};

template <Element T>
class WindowNode final : public UnaryNode<std::vector<T>, T> {
 public:
  WindowNode(std::shared_ptr<const Node<T>> upstream, size_t size, size_t shift,
             bool drop_remainder)
      : UnaryNode<std::vector<T>, T>(std::move(upstream)),
        size_(size),
        shift_(shift),
        drop_remainder_(drop_remainder) {}
  std::unique_ptr<Stage<std::vector<T>>> build_stage(const StageContext& context) const override {
    return std::make_unique<WindowStage<T>>(this->upstream().make_stage(context), size_, shift_,
                                            drop_remainder_, context);
  }

  PlanDescription describe() const override {
    return this->described(
        "window", {{"size", size_}, {"shift", shift_}, {"drop_remainder", drop_remainder_}});
  }

 private:
  size_t size_;
  size_t shift_;
  bool drop_remainder_;
};

}  // namespace recordpipe
