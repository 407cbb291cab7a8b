// What operators have in common that take elements now from one input, now from another.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "recordpipe/internal/engine/node.h"
#include "recordpipe/internal/engine/stage.h"
#include "recordpipe/internal/engine/value_store.h"

namespace recordpipe {

template <Element T>
using StageInputs = std::vector<std::unique_ptr<Stage<T>>>;

// What a ticket of a merging operator stands for.
struct InputRef {
  size_t input = 0;
  uint64_t ref = 0;  // the input's
};

// What becomes of a chunk's tickets, input by input.
struct InputTickets {
  std::vector<Ticket> tickets;
  std::vector<size_t> at;  // in the chunk
};

inline void sort_by_input(std::span<const Ticket> tickets, ValueStore<InputRef>& refs,
                          std::vector<InputRef>& scratch, std::vector<InputTickets>& out) {
  scratch.resize(tickets.size());
  refs.take(tickets, scratch);
  for (InputTickets& input : out) {
    input.tickets.clear();
    input.at.clear();
  }
  for (size_t i = 0; i < tickets.size(); ++i) {
    InputTickets& input = out[scratch[i].input];
    input.tickets.push_back({tickets[i].id, scratch[i].ref});
    input.at.push_back(i);
  }
}

template <Element T>
class MergeProducer final : public Producer<T> {
 public:
  MergeProducer(const StageInputs<T>& inputs, ValueStore<InputRef>& refs)
      : refs_(refs), by_input_(inputs.size()) {
    for (const auto& input : inputs) producers_.push_back(input->make_producer());
  }

  Failures produce(std::span<const Ticket> tickets, std::span<T> out) override {
    sort_by_input(tickets, refs_, scratch_, by_input_);
    Failures failures;
    for (size_t input = 0; input < producers_.size(); ++input) {
      const auto& [of_input, at] = by_input_[input];
      if (of_input.empty()) continue;
      if (values_.size() < of_input.size()) values_.resize(of_input.size());
      for (Failure& failure :
           producers_[input]->produce(of_input, {values_.data(), of_input.size()})) {
        failures.push_back({at[failure.at], std::move(failure.error)});
      }
      for (size_t i = 0; i < of_input.size(); ++i) std::swap(out[at[i]], values_[i]);
    }
    std::ranges::sort(failures, {}, &Failure::at);
    return failures;
  }

 private:
  ValueStore<InputRef>& refs_;
  std::vector<std::unique_ptr<Producer<T>>> producers_;
  std::vector<InputRef> scratch_;
  std::vector<InputTickets> by_input_;
  std::vector<T> values_;
};

// Elements keep their ids, and each input has an epoch of its own (input_epoch), so random numbers
// differ between inputs and are those of the element, wherever it comes.
template <Element T>
class MergeStage : public Stage<T> {
 public:
  explicit MergeStage(StageInputs<T> inputs) : inputs_(std::move(inputs)) { restart_inputs(0); }

  void charge_to(const std::shared_ptr<MemoryAccount>& account) override {
    refs_.charge_to(account);
  }

  void do_discard(std::span<const Ticket> tickets) override {
    std::vector<InputRef> scratch;
    std::vector<InputTickets> by_input(inputs_.size());
    sort_by_input(tickets, refs_, scratch, by_input);
    for (size_t i = 0; i < inputs_.size(); ++i) inputs_[i]->discard(by_input[i].tickets);
  }

  bool can_save() const override {
    return std::ranges::all_of(inputs_, [](const auto& input) { return input->can_save(); });
  }

  void do_request_stop() override {
    for (const auto& input : inputs_) input->request_stop();
  }

  std::unique_ptr<Producer<T>> make_producer() override {
    return std::make_unique<MergeProducer<T>>(inputs_, refs_);
  }

  bool has_work() const override {
    return std::ranges::any_of(inputs_, [](const auto& input) { return input->has_work(); });
  }

  size_t chunk_size() const override {
    size_t least = SIZE_MAX;
    for (const auto& input : inputs_) least = std::min(least, input->chunk_size());
    return least;
  }

 protected:
  size_t input_count() const { return inputs_.size(); }
  Stage<T>& input(size_t i) { return *inputs_[i]; }

  // Tickets of an input become tickets of this.
  void label(std::span<Ticket> tickets, size_t input) {
    labels_.resize(tickets.size());
    for (size_t i = 0; i < tickets.size(); ++i) labels_[i] = {input, tickets[i].ref};
    refs_.put(labels_, tickets);
  }

  void restart_inputs(uint64_t epoch) {
    for (size_t i = 0; i < inputs_.size(); ++i) inputs_[i]->restart(input_epoch(epoch, i));
  }

  void save_inputs(PlanState& state) const {
    for (size_t i = 0; i < inputs_.size(); ++i) inputs_[i]->save(state.inputs[i]);
  }

  void restore_inputs(const PlanNumbers& numbers, uint64_t epoch) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      restore_place(*inputs_[i], numbers.input(i), input_epoch(epoch, i));
    }
  }

 private:
  StageInputs<T> inputs_;
  ValueStore<InputRef> refs_;
  std::vector<InputRef> labels_;
};

// A Node with inputs of one kind, at least one.
template <Element T>
class MergeNode : public Node<T> {
 public:
  using Inputs = std::vector<std::shared_ptr<const Node<T>>>;

  explicit MergeNode(Inputs inputs) : inputs_(std::move(inputs)) {}

  // Where the inputs use the same numbers they are told apart by their epochs.
  uint64_t random_operators() const override {
    uint64_t most = 0;
    for (const auto& input : inputs_) most = std::max(most, input->random_operators());
    return most;
  }

 protected:
  StageInputs<T> make_inputs(const StageContext& context) const {
    StageInputs<T> stages;
    for (const auto& input : inputs_) stages.push_back(input->make_stage(context));
    return stages;
  }

  // Of the inputs.
  std::string first_sequential_operator() const {
    for (const auto& input : inputs_) {
      if (std::string name = input->sequential_operator(); !name.empty()) return name;
    }
    return {};
  }

  PlanDescription described(std::string name, std::vector<PlanParameter> parameters) const {
    PlanDescription plan{.name = std::move(name), .parameters = std::move(parameters)};
    for (const auto& input : inputs_) plan.inputs.push_back(input->describe());
    return plan;
  }

 private:
  Inputs inputs_;
};

}  // namespace recordpipe
