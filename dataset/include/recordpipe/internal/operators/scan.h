// scan: a map that carries a state from element to element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "recordpipe/internal/engine/executor.h"
#include "recordpipe/internal/engine/node.h"
#include "recordpipe/internal/engine/stage.h"
#include "recordpipe/internal/engine/value_store.h"

namespace recordpipe {

// Calls function(const State&, T) -> std::pair<State, U> for each element in order, one after the
// other, on the thread that plans: what is upstream runs on all threads. Elements keep their ids.
// The state starts anew in each pass. An element that fails, in the function too, leaves the state
// as it was.
//
// Saved: the state's bytes and the input's place where State is trivially copyable (so it must hold
// no pointers). Where it isn't, how many elements were taken: the state is reached again by
// computing the pass up to there.
template <Element T, Element U, std::copyable State, class Function>
class ScanStage final : public StoreStage<U> {
 public:
  ScanStage(std::unique_ptr<Stage<T>> upstream, const State& initial, const Function& function,
            const StageContext& context)
      : chunk_size_(upstream->chunk_size()),
        initial_(initial),
        function_(function),
        executor_(std::move(upstream), context),
        state_(initial) {}

  size_t do_plan(std::span<Ticket> out, Wait) override {
    if (!fetch()) return 0;
    size_t planned = 0;
    for (; at_ < chunk_.size() && planned < out.size(); ++at_) out[planned++] = next();
    return planned;
  }

  void do_restart(uint64_t epoch) override {
    forget();
    executor_.restart(epoch);
  }

  void save(PlanState& state) const override {
    if constexpr (kSavesState) {
      state.reset(1).numbers.resize(kWords);
      std::memcpy(state.numbers.data(), &state_, sizeof(State));
      executor_.save(executor_.position() + at_, state.inputs[0]);
    } else {
      state.reset(0).numbers = {executor_.position() + at_};
    }
  }

  void do_restore(const PlanState& state, uint64_t epoch) override {
    if constexpr (kSavesState) {
      PlanNumbers numbers(state, 1);
      if (numbers.rest().size() != kWords) fail_state();
      forget();
      std::memcpy(&state_, numbers.rest().data(), sizeof(State));
      restore_place(executor_, numbers.input(), epoch);
    } else {
      const uint64_t taken = PlanNumbers(state, 0).next();
      do_restart(epoch);
      while (executor_.position() + at_ < taken) {
        if (!fetch()) fail_state();
        const Ticket unwanted = next();
        ++at_;
        this->discard({&unwanted, 1});
      }
    }
  }

  void do_request_stop() override { executor_.request_stop(); }

  size_t chunk_size() const override { return chunk_size_; }

 private:
  static constexpr bool kSavesState = std::is_trivially_copyable_v<State>;
  static_assert(!std::is_pointer_v<State>, "another process can't follow a saved pointer");
  static constexpr size_t kWords = (sizeof(State) + sizeof(uint64_t) - 1) / sizeof(uint64_t);

  // False at the end.
  bool fetch() {
    if (at_ < chunk_.size()) return true;
    at_ = 0;
    chunk_ = {};  // first: the executor may throw
    chunk_ = executor_.next_with_failures();
    executor_.release(executor_.position());
    return !chunk_.empty();
  }

  Ticket next() {
    const ElementId id = chunk_.tickets[at_].id;
    if (auto error = chunk_.take_error_at(at_)) {
      return {id, this->store().put_failure(std::move(error))};
    }
    try {
      std::pair<State, U> result =
          std::invoke(function_, std::as_const(state_), std::move(chunk_.values[at_]));
      state_ = std::move(result.first);
      return {id, this->store().put(result.second)};
    } catch (...) {
      return {id, this->store().put_failure(std::current_exception())};
    }
  }

  void forget() {
    chunk_ = {};
    at_ = 0;
    state_ = initial_;
  }

  const size_t chunk_size_;
  const State& initial_;      // the node's
  const Function& function_;  // likewise
  Executor<T> executor_;
  typename Executor<T>::Chunk chunk_;
  size_t at_ = 0;
  State state_;
};

template <Element T, Element U, std::copyable State, class Function>
class ScanNode final : public UnaryNode<U, T> {
 public:
  ScanNode(std::shared_ptr<const Node<T>> upstream, State initial, Function function)
      : UnaryNode<U, T>(std::move(upstream)),
        initial_(std::move(initial)),
        function_(std::move(function)) {}
  std::unique_ptr<Stage<U>> build_stage(const StageContext& context) const override {
    return std::make_unique<ScanStage<T, U, State, Function>>(this->upstream().make_stage(context),
                                                              initial_, function_, context);
  }

  PlanDescription describe() const override { return this->described("scan", {}); }

 private:
  State initial_;
  Function function_;
};

}  // namespace recordpipe
