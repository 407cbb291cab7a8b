// filter: keeps the elements that a predicate holds for.
//
// In order. Elements keep their ids. No random access. Saved: the input's place; what the predicate
// says is found out again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "recordpipe/internal/engine/executor.h"
#include "recordpipe/internal/engine/node.h"
#include "recordpipe/internal/engine/stage.h"
#include "recordpipe/internal/engine/value_store.h"
#include "recordpipe/internal/operators/map.h"

namespace recordpipe {

template <Element T>
struct Tested {
  T value{};
  bool keep = false;

  friend uint64_t heap_bytes(const Tested& tested) { return heap_bytes(tested.value); }
};

template <class Predicate>
struct TestElement {
  Predicate predicate;

  template <class T>
  Tested<T> operator()(T&& value, ElementId) const {
    const bool keep = std::invoke(predicate, std::as_const(value));
    return {std::forward<T>(value), keep};
  }
};

// Which elements there are is known only when they are computed: an Executor computes and tests
// them on all threads, and those that are kept go on as values, those that fail as failures. An
// element keeps its id, so a filter changes nobody else's random numbers.
template <Element T>
class FilterStage final : public StoreStage<T> {
 public:
  FilterStage(std::unique_ptr<Stage<Tested<T>>> tested, const StageContext& context)
      : chunk_size_(tested->chunk_size()), executor_(std::move(tested), context) {}

  size_t do_plan(std::span<Ticket> out, Wait) override {
    size_t planned = 0;
    while (planned == 0) {
      if (at_ == count_) {
        at_ = count_ = 0;  // first: next() may throw
        chunk_ = executor_.next_with_failures();
        executor_.release(executor_.position());
        count_ = chunk_.size();
        if (count_ == 0) return 0;
      }
      for (; at_ < count_ && planned < out.size(); ++at_) {
        const ElementId id = chunk_.tickets[at_].id;
        Tested<T>& tested = chunk_.values[at_];
        if (auto error = chunk_.take_error_at(at_)) {
          out[planned++] = {id, this->store().put_failure(std::move(error))};
        } else if (tested.keep) {
          out[planned++] = {id, this->store().put(tested.value)};
        }
      }
    }
    return planned;
  }

  void do_restart(uint64_t epoch) override {
    at_ = count_ = 0;
    executor_.restart(epoch);
  }

  // That many inputs have been tested, kept or not.
  void save(PlanState& state) const override {
    executor_.save(executor_.position() + at_, state.reset(1).inputs[0]);
  }

  void do_restore(const PlanState& state, uint64_t epoch) override {
    at_ = count_ = 0;
    restore_place(executor_, PlanNumbers(state, 1).input(), epoch);
  }

  void do_request_stop() override { executor_.request_stop(); }

  size_t chunk_size() const override { return chunk_size_; }

 private:
  const size_t chunk_size_;
  Executor<Tested<T>> executor_;
  typename Executor<Tested<T>>::Chunk chunk_;
  size_t at_ = 0;
  size_t count_ = 0;
};

template <Element T, class Predicate>
class FilterNode final : public UnaryNode<T> {
 public:
  FilterNode(std::shared_ptr<const Node<T>> upstream, Predicate predicate)
      : UnaryNode<T>(std::move(upstream)), test_{std::move(predicate)} {}
  std::unique_ptr<Stage<T>> build_stage(const StageContext& context) const override {
    auto tested = std::make_unique<MapStage<T, Tested<T>, TestElement<Predicate>>>(
        this->upstream().make_stage(context), test_);
    return std::make_unique<FilterStage<T>>(std::move(tested), context);
  }

  PlanDescription describe() const override { return this->described("filter", {}); }

 private:
  TestElement<Predicate> test_;
};

}  // namespace recordpipe
