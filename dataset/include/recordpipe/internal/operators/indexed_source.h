// What sources in memory have in common: elements by number.
//
// In order; with random access. Saved: the number of the next element.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "recordpipe/internal/engine/node.h"
#include "recordpipe/internal/engine/stage.h"

namespace recordpipe {

// `Values` has size() and operator[](size_t), which several threads may call at once.
template <Element T, class Values>
class IndexedProducer final : public Producer<T> {
 public:
  explicit IndexedProducer(const Values& values) : values_(values) {}
  Failures produce(std::span<const Ticket> tickets, std::span<T> out) override {
    Failures failures;
    for (size_t i = 0; i < tickets.size(); ++i) {
      try {
        out[i] = values_[tickets[i].ref];
      } catch (...) {
        failures.push_back({i, std::current_exception()});
      }
    }
    return failures;
  }

 private:
  const Values& values_;
};

template <Element T, class Values>
class IndexedStage final : public Stage<T> {
 public:
  IndexedStage(const Values& values, size_t chunk_size)
      : values_(values), chunk_size_(chunk_size) {}
  size_t do_plan(std::span<Ticket> out, Wait) override {
    const size_t planned = std::min<size_t>(out.size(), values_.size() - next_);
    for (size_t i = 0; i < planned; ++i, ++next_) out[i] = ticket(next_);
    return planned;
  }
  void do_discard(std::span<const Ticket>) override {}
  void do_restart(uint64_t epoch) override {
    epoch_ = epoch;
    next_ = 0;
  }
  uint64_t do_advance(uint64_t count) override {
    const uint64_t passed = std::min<uint64_t>(count, values_.size() - next_);
    next_ += passed;
    return passed;
  }
  uint64_t size() override { return values_.size(); }
  void tickets_at(std::span<const uint64_t> places, std::span<Ticket> out) override {
    for (size_t i = 0; i < places.size(); ++i) out[i] = ticket(places[i]);
  }
  void save(PlanState& state) const override { state.reset(0).numbers = {next_}; }
  void do_restore(const PlanState& state, uint64_t epoch) override {
    epoch_ = epoch;
    next_ = PlanNumbers(state, 0).next(values_.size());
  }
  void do_request_stop() override {}
  std::unique_ptr<Producer<T>> make_producer() override {
    return std::make_unique<IndexedProducer<T, Values>>(values_);
  }
  bool has_work() const override { return false; }
  size_t chunk_size() const override { return chunk_size_; }

 private:
  Ticket ticket(uint64_t number) const { return {{epoch_, number}, number}; }

  const Values& values_;  // the node's
  const size_t chunk_size_;
  uint64_t epoch_ = 0;
  uint64_t next_ = 0;
};

template <Element T, class Values>
class IndexedNode final : public Node<T> {
 public:
  IndexedNode(std::string name, std::vector<PlanParameter> parameters, Values values)
      : name_(std::move(name)), parameters_(std::move(parameters)), values_(std::move(values)) {}
  std::unique_ptr<Stage<T>> build_stage(const StageContext& context) const override {
    return std::make_unique<IndexedStage<T, Values>>(values_, context.chunk_size);
  }
  PlanDescription describe() const override { return {.name = name_, .parameters = parameters_}; }
  uint64_t random_operators() const override { return 0; }
  std::string sequential_operator() const override { return {}; }

 private:
  std::string name_;
  std::vector<PlanParameter> parameters_;
  Values values_;
};

}  // namespace recordpipe
