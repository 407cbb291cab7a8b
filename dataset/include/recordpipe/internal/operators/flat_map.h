// flat_map over vectors, and unbatch: one element becomes several.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "recordpipe/internal/engine/executor.h"
#include "recordpipe/internal/engine/node.h"
#include "recordpipe/internal/engine/stage.h"
#include "recordpipe/internal/engine/value_store.h"
#include "recordpipe/internal/operators/map.h"

namespace recordpipe {

// Order: all of the first element's, then all of the second's, and so on. An Executor computes the
// vectors on all threads; their elements go on as values, with the ids child_id(element, place in
// its vector). An element that fails is one that fails here.
//
// Saved: the place of the element in the input whose vector is handed on, and how far that is. The
// vector is computed again.
template <Element U>
class FlattenStage final : public StoreStage<U> {
 public:
  FlattenStage(std::unique_ptr<Stage<std::vector<U>>> upstream, const StageContext& context)
      : chunk_size_(upstream->chunk_size()), executor_(std::move(upstream), context) {}

  size_t do_plan(std::span<Ticket> out, Wait) override {
    size_t planned = 0;
    while (planned == 0) {
      if (at_ == chunk_.size()) {
        at_ = 0;
        chunk_ = {};  // first: the executor may throw
        chunk_ = executor_.next_with_failures();
        executor_.release(executor_.position());
        if (chunk_.empty()) return 0;
      }
      planned = plan_one(out);
    }
    return planned;
  }

  void do_restart(uint64_t epoch) override {
    forget();
    executor_.restart(epoch);
  }

  void save(PlanState& state) const override {
    state.reset(1).numbers = {place_};
    executor_.save(executor_.position() + at_, state.inputs[0]);
  }

  void do_restore(const PlanState& state, uint64_t epoch) override {
    PlanNumbers numbers(state, 1);
    forget();
    place_ = numbers.next();
    restore_place(executor_, numbers.input(), epoch);
  }

  void do_request_stop() override { executor_.request_stop(); }

  size_t chunk_size() const override { return chunk_size_; }

 private:
  // Hands on what fits of the current vector, perhaps nothing.
  size_t plan_one(std::span<Ticket> out) {
    const ElementId parent = chunk_.tickets[at_].id;
    size_t planned = 0;
    if (auto error = chunk_.take_error_at(at_)) {
      out[planned++] = {child_id(parent, 0), this->store().put_failure(std::move(error))};
    } else {
      std::vector<U>& values = chunk_.values[at_];
      while (place_ < values.size() && planned < out.size()) {
        const ElementId id = child_id(parent, place_);
        out[planned++] = {id, this->store().put(values[place_++])};
      }
      if (place_ < values.size()) return planned;
    }
    place_ = 0;
    ++at_;
    return planned;
  }

  void forget() {
    chunk_ = {};
    at_ = 0;
    place_ = 0;
  }

  const size_t chunk_size_;
  Executor<std::vector<U>> executor_;
  typename Executor<std::vector<U>>::Chunk chunk_;
  size_t at_ = 0;       // in the chunk
  uint64_t place_ = 0;  // in that element's vector
};

template <Element T, Element U, class Function>
class FlatMapNode final : public UnaryNode<U, T> {
 public:
  FlatMapNode(std::shared_ptr<const Node<T>> upstream, Function function)
      : UnaryNode<U, T>(std::move(upstream)), function_{std::move(function)} {}
  std::unique_ptr<Stage<U>> build_stage(const StageContext& context) const override {
    auto vectors = std::make_unique<MapStage<T, std::vector<U>, WithoutRandom<Function>>>(
        this->upstream().make_stage(context), function_);
    return std::make_unique<FlattenStage<U>>(std::move(vectors), context);
  }

  PlanDescription describe() const override { return this->described("flat_map", {}); }

 private:
  WithoutRandom<Function> function_;
};

template <Element U>
class UnbatchNode final : public UnaryNode<U, std::vector<U>> {
 public:
  using UnaryNode<U, std::vector<U>>::UnaryNode;
  std::unique_ptr<Stage<U>> build_stage(const StageContext& context) const override {
    return std::make_unique<FlattenStage<U>>(this->upstream().make_stage(context), context);
  }

  PlanDescription describe() const override { return this->described("unbatch", {}); }
};

// The element type of a std::vector; for anything else NoVector.
struct NoVector {};
template <class T>
struct VectorElement {
  using type = NoVector;
};
template <class U>
struct VectorElement<std::vector<U>> {
  using type = U;
};
template <class T>
using vector_element_t = typename VectorElement<T>::type;
template <class T>
concept Vector = !std::same_as<vector_element_t<T>, NoVector>;

}  // namespace recordpipe
