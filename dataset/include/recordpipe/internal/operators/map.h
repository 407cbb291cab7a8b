// map: a function of each element, applied on all threads, results in order.
//
// In order. map_with_random's function also draws: from numbers of the element's own, keyed by the
// seed, the operator and the element's id, so the same wherever it is computed and others in each
// epoch. Elements keep their ids. With random access where the input has it. Saved: nothing but the
// input's place.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "recordpipe/internal/engine/node.h"
#include "recordpipe/internal/engine/stage.h"
#include "recordpipe/philox.h"

namespace recordpipe {

// `Function` is called as function(T&&, ElementId) -> U, from several threads at once. Maps that
// follow each other are computed in the same go, a chunk at a time.
template <Element T, Element U, class Function>
class MapProducer final : public Producer<U> {
 public:
  MapProducer(std::unique_ptr<Producer<T>> upstream, const Function& function)
      : upstream_(std::move(upstream)), function_(function) {}

  Failures produce(std::span<const Ticket> tickets, std::span<U> out) override {
    if (inputs_.size() < tickets.size()) inputs_.resize(tickets.size());
    Failures failures = upstream_->produce(tickets, {inputs_.data(), tickets.size()});
    const size_t missing_inputs = failures.size();
    size_t next_missing = 0;
    for (size_t i = 0; i < tickets.size(); ++i) {
      if (next_missing < missing_inputs && failures[next_missing].at == i) {
        ++next_missing;
        continue;
      }
      try {
        out[i] = function_(std::move(inputs_[i]), tickets[i].id);
      } catch (...) {
        failures.push_back({i, std::current_exception()});
      }
    }
    if (failures.size() > missing_inputs) std::ranges::sort(failures, {}, &Failure::at);
    return failures;
  }

 private:
  std::unique_ptr<Producer<T>> upstream_;
  const Function& function_;
  std::vector<T> inputs_;
};

template <Element T, Element U, class Function>
class MapStage final : public Stage<U> {
 public:
  MapStage(std::unique_ptr<Stage<T>> upstream, const Function& function)
      : upstream_(std::move(upstream)), function_(function) {}
  size_t do_plan(std::span<Ticket> out, Wait wait) override { return upstream_->plan(out, wait); }
  void do_discard(std::span<const Ticket> tickets) override { upstream_->discard(tickets); }
  void do_restart(uint64_t epoch) override { upstream_->restart(epoch); }
  uint64_t do_advance(uint64_t count) override { return upstream_->advance(count); }
  uint64_t size() override { return upstream_->size(); }
  void tickets_at(std::span<const uint64_t> places, std::span<Ticket> out) override {
    upstream_->tickets_at(places, out);
  }
  bool can_save() const override { return upstream_->can_save(); }
  void save(PlanState& state) const override { upstream_->save(state); }
  void do_restore(const PlanState& state, uint64_t epoch) override {
    upstream_->restore(state, epoch);
  }
  void do_request_stop() override { upstream_->request_stop(); }
  std::unique_ptr<Producer<U>> make_producer() override {
    return std::make_unique<MapProducer<T, U, Function>>(upstream_->make_producer(), function_);
  }
  bool has_work() const override { return true; }
  size_t chunk_size() const override { return upstream_->chunk_size(); }

 private:
  std::unique_ptr<Stage<T>> upstream_;
  const Function& function_;  // the node's
};

// map_with_random's Function: the same numbers for an element wherever it is computed.
template <class Function>
struct WithRandom {
  Function function;
  uint64_t seed;
  uint64_t key;

  template <class T>
  auto operator()(T&& value, ElementId id) const {
    Random random(key, id.epoch, id.index);
    return std::invoke(function, std::forward<T>(value), random);
  }
};

// map's Function.
template <class Function>
struct WithoutRandom {
  Function function;

  template <class T>
  auto operator()(T&& value, ElementId) const {
    return std::invoke(function, std::forward<T>(value));
  }
};

// `Function` is WithRandom or WithoutRandom of what the user gave.
template <Element T, Element U, class Function>
class MapNode final : public UnaryNode<U, T> {
 public:
  MapNode(std::shared_ptr<const Node<T>> upstream, Function function, bool random)
      : UnaryNode<U, T>(std::move(upstream)), function_(std::move(function)), random_(random) {}
  std::unique_ptr<Stage<U>> build_stage(const StageContext& context) const override {
    return std::make_unique<MapStage<T, U, Function>>(this->upstream().make_stage(context),
                                                      function_);
  }
  uint64_t random_operators() const override {
    return this->upstream().random_operators() + (random_ ? 1 : 0);
  }
  std::string sequential_operator() const override {
    return this->upstream().sequential_operator();
  }
  PlanDescription describe() const override {
    PlanDescription plan = this->described("map", {});
    if constexpr (requires { function_.seed; }) {
      plan.name = "map_with_random";
      plan.parameters = {{"seed", function_.seed}};
    }
    if constexpr (HasParameters<decltype(function_.function)>) {
      plan.add(function_.function.parameters());
    }
    plan.is_element_wise = true;
    return plan;
  }

 private:
  Function function_;
  bool random_;
};

}  // namespace recordpipe
