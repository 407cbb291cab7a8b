// zip: the first elements of several datasets together, then the second ones, and so on.
//
// In order, as long as all of them have one: the shortest ends it. The id of what comes out is its
// number; each input has an epoch of its own (input_epoch), so random numbers drawn upstream differ
// between inputs. One that fails in an input fails here. With random access where all inputs have
// it. Saved: the places in all inputs.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "recordpipe/dataset.h"
#include "recordpipe/internal/engine/node.h"
#include "recordpipe/internal/engine/plan_snapshots.h"
#include "recordpipe/internal/engine/stage.h"
#include "recordpipe/internal/engine/value_store.h"

namespace recordpipe {

// function(std::integral_constant<size_t, k>) for each k < n.
template <size_t n, class F>
void for_each_index(F&& function) {
  [&]<size_t... k>(std::index_sequence<k...>) {
    (function(std::integral_constant<size_t, k>{}), ...);
  }
  (std::make_index_sequence<n>{});
}

template <size_t n>
using ZippedTickets = std::array<Ticket, n>;

template <Element... Ts>
class ZipProducer final : public Producer<std::tuple<Ts...>> {
 public:
  static constexpr size_t kInputs = sizeof...(Ts);

  ZipProducer(std::tuple<std::unique_ptr<Stage<Ts>>...>& inputs,
              ValueStore<ZippedTickets<kInputs>>& tickets)
      : zipped_(tickets) {
    for_each_index<kInputs>(
        [&](auto k) { std::get<k>(producers_) = std::get<k>(inputs)->make_producer(); });
  }

  Failures produce(std::span<const Ticket> tickets, std::span<std::tuple<Ts...>> out) override {
    const size_t count = tickets.size();
    scratch_.resize(count);
    zipped_.take(tickets, scratch_);
    tickets_.resize(count);
    Failures failures;
    for_each_index<kInputs>([&](auto k) {
      for (size_t i = 0; i < count; ++i) tickets_[i] = scratch_[i][k];
      auto& values = std::get<k>(values_);
      if (values.size() < count) values.resize(count);
      for (Failure& failure : std::get<k>(producers_)->produce(tickets_, {values.data(), count})) {
        failures.push_back(std::move(failure));
      }
      for (size_t i = 0; i < count; ++i) std::swap(std::get<k>(out[i]), values[i]);
    });
    // Of several inputs that fail for one element, the first one's failure.
    std::ranges::stable_sort(failures, {}, &Failure::at);
    const auto twice = std::ranges::unique(failures, {}, &Failure::at);
    failures.erase(twice.begin(), twice.end());
    return failures;
  }

 private:
  ValueStore<ZippedTickets<kInputs>>& zipped_;
  std::tuple<std::unique_ptr<Producer<Ts>>...> producers_;
  std::vector<ZippedTickets<kInputs>> scratch_;
  std::vector<Ticket> tickets_;
  std::tuple<std::vector<Ts>...> values_;
};

template <Element... Ts>
class ZipStage final : public Stage<std::tuple<Ts...>> {
 public:
  static constexpr size_t kInputs = sizeof...(Ts);

  explicit ZipStage(std::tuple<std::unique_ptr<Stage<Ts>>...> inputs) : inputs_(std::move(inputs)) {
    this->restart(0);
  }

  void charge_to(const std::shared_ptr<MemoryAccount>& account) override {
    zipped_.charge_to(account);
    for (PlanSnapshots& place : places_) place.charge_to(account);
  }

  size_t do_plan(std::span<Ticket> out, Wait wait) override {
    if (ended_input_ < kInputs) return static_cast<size_t>(advance_ended_input());
    // Where an input is ahead of the others, they catch up first.
    size_t wanted = 0;
    for (const auto& ahead : ahead_) wanted = std::max(wanted, ahead.size());
    wanted = wanted == 0 ? out.size() : std::min(wanted, out.size());
    // Each is asked for no more than those before it have, so it doesn't matter how many are asked
    // for at once which of them ends or fails first.
    for_each_index<kInputs>([&](auto k) { wanted = fill<k>(wanted, wait); });
    if (wanted == 0) {
      if (wait == Wait::yes) discard_ahead();  // the end
      return 0;
    }
    zip(wanted);
    zipped_.put(scratch_, out);
    for (size_t i = 0; i < wanted; ++i) out[i].id = {epoch_, next_++};
    for (PlanSnapshots& place : places_) place.release(next_);
    return wanted;
  }

  void do_discard(std::span<const Ticket> tickets) override {
    std::vector<ZippedTickets<kInputs>> zipped(tickets.size());
    zipped_.take(tickets, zipped);
    for_each_index<kInputs>([&](auto k) {
      for (const auto& each : zipped) std::get<k>(inputs_)->discard({&each[k], 1});
    });
  }

  void do_restart(uint64_t epoch) override {
    discard_ahead();
    epoch_ = epoch;
    next_ = 0;
    for_each_index<kInputs>([&](auto k) { std::get<k>(inputs_)->restart(input_epoch(epoch, k)); });
    start_places();
  }

  uint64_t do_advance(uint64_t count) override {
    if (ended_input_ < kInputs) return advance_ended_input();
    for_each_index<kInputs>([&](auto k) {
      const uint64_t planned = std::min<uint64_t>(count, ahead_[k].size());
      discard_first<k>(static_cast<size_t>(planned));
      uint64_t passed = planned;
      try {
        passed += std::get<k>(inputs_)->advance(count - planned);
      } catch (...) {
        if (planned == 0) throw;
      }
      if (passed < count) ended_input_ = k;
      count = passed;
    });
    next_ += count;
    for (PlanSnapshots& place : places_) place.release(next_);
    return count;
  }

  uint64_t size() override {
    uint64_t least = UINT64_MAX;
    for_each_index<kInputs>([&](auto k) { least = std::min(least, std::get<k>(inputs_)->size()); });
    return least;
  }

  void tickets_at(std::span<const uint64_t> places, std::span<Ticket> out) override {
    scratch_.resize(places.size());
    for_each_index<kInputs>([&](auto k) {
      std::get<k>(inputs_)->tickets_at(places, out);
      for (size_t i = 0; i < places.size(); ++i) scratch_[i][k] = out[i];
    });
    zipped_.put(scratch_, out);
    for (size_t i = 0; i < places.size(); ++i) out[i].id = {epoch_, places[i]};
  }

  void save(PlanState& state) const override {
    state.reset(kInputs).numbers = {next_};
    for (size_t k = 0; k < kInputs; ++k) places_[k].save(next_, state.inputs[k]);
  }

  void do_restore(const PlanState& state, uint64_t epoch) override {
    PlanNumbers numbers(state, kInputs);
    discard_ahead();
    epoch_ = epoch;
    next_ = numbers.next();
    for_each_index<kInputs>([&](auto k) {
      restore_place(*std::get<k>(inputs_), numbers.input(k), input_epoch(epoch, k));
    });
    start_places();
  }

  void do_request_stop() override {
    for_each_index<kInputs>([&](auto k) { std::get<k>(inputs_)->request_stop(); });
  }

  std::unique_ptr<Producer<std::tuple<Ts...>>> make_producer() override {
    return std::make_unique<ZipProducer<Ts...>>(inputs_, zipped_);
  }

  bool has_work() const override {
    bool any = false;
    for_each_index<kInputs>([&](auto k) { any = any || std::get<k>(inputs_)->has_work(); });
    return any;
  }

  size_t chunk_size() const override {
    size_t least = SIZE_MAX;
    for_each_index<kInputs>(
        [&](auto k) { least = std::min(least, std::get<k>(inputs_)->chunk_size()); });
    return least;
  }

 private:
  // Plans ahead in input k up to `wanted`, and returns how many of those there are.
  template <size_t k>
  size_t fill(size_t wanted, Wait wait) {
    auto& ahead = ahead_[k];
    while (ahead.size() < wanted) {
      const size_t before = ahead.size();
      places_[k].take(*std::get<k>(inputs_), next_ + before);
      ahead.resize(wanted);
      size_t planned = 0;
      try {
        planned = std::get<k>(inputs_)->plan(std::span(ahead).subspan(before),
                                             before == 0 ? wait : Wait::no);
      } catch (...) {
        ahead.resize(before);
        if (before == 0) throw;  // else thrown again by a later call
        break;
      }
      ahead.resize(before + planned);
      if (planned == 0) break;
    }
    return std::min(wanted, ahead.size());
  }

  // The first `count` of all inputs become scratch_.
  void zip(size_t count) {
    scratch_.resize(count);
    for (size_t k = 0; k < kInputs; ++k) {
      for (size_t i = 0; i < count; ++i) scratch_[i][k] = ahead_[k][i];
      ahead_[k].erase(ahead_[k].begin(), ahead_[k].begin() + static_cast<std::ptrdiff_t>(count));
    }
  }

  template <size_t k>
  void discard_first(size_t count) {
    auto& ahead = ahead_[k];
    std::get<k>(inputs_)->discard(std::span(ahead).first(count));
    ahead.erase(ahead.begin(), ahead.begin() + static_cast<std::ptrdiff_t>(count));
  }

  void discard_ahead() {
    for_each_index<kInputs>([&](auto k) { discard_first<k>(ahead_[k].size()); });
  }

  // Returns 0 at the end of ended_input_, or throws its error.
  uint64_t advance_ended_input() {
    uint64_t passed = 0;
    for_each_index<kInputs>([&](auto k) {
      if (k == ended_input_) passed = std::get<k>(inputs_)->advance(1);
    });
    return passed;
  }

  void start_places() {
    ended_input_ = kInputs;
    for_each_index<kInputs>([&](auto k) { places_[k].start(*std::get<k>(inputs_), next_); });
  }

  std::tuple<std::unique_ptr<Stage<Ts>>...> inputs_;
  ValueStore<ZippedTickets<kInputs>> zipped_;
  std::array<std::vector<Ticket>, kInputs> ahead_;  // planned, and not yet zipped
  std::array<PlanSnapshots, kInputs> places_;       // of the inputs, which may be ahead
  // The input whose end or error advance() has found, if any. The inputs before it may have been
  // advanced beyond it by then.
  size_t ended_input_ = kInputs;
  std::vector<ZippedTickets<kInputs>> scratch_;
  uint64_t epoch_ = 0;
  uint64_t next_ = 0;
};

template <Element... Ts>
class ZipNode final : public Node<std::tuple<Ts...>> {
 public:
  explicit ZipNode(std::shared_ptr<const Node<Ts>>... inputs) : inputs_(std::move(inputs)...) {}
  std::unique_ptr<Stage<std::tuple<Ts...>>> build_stage(
      const StageContext& context) const override {
    return std::apply(
        [&](const auto&... input) {
          // Braces: the first input first.
          return std::make_unique<ZipStage<Ts...>>(
              std::tuple<std::unique_ptr<Stage<Ts>>...>{input->make_stage(context)...});
        },
        inputs_);
  }
  // Where the inputs use the same numbers they are told apart by their epochs.
  uint64_t random_operators() const override {
    return std::apply([](const auto&... input) { return std::max({input->random_operators()...}); },
                      inputs_);
  }
  std::string sequential_operator() const override {
    std::string first;
    for_each_index<sizeof...(Ts)>([&](auto k) {
      if (first.empty()) first = std::get<k>(inputs_)->sequential_operator();
    });
    return first;
  }
  PlanDescription describe() const override {
    PlanDescription plan{.name = "zip"};
    for_each_index<sizeof...(Ts)>(
        [&](auto k) { plan.inputs.push_back(std::get<k>(inputs_)->describe()); });
    return plan;
  }

 private:
  std::tuple<std::shared_ptr<const Node<Ts>>...> inputs_;
};

// Tuples of an element of each dataset, at least one; with the options and the epoch of the first.
template <Element T, Element... Ts>
Dataset<std::tuple<T, Ts...>> zip(const Dataset<T>& first, const Dataset<Ts>&... others) {
  return first.template with<std::tuple<T, Ts...>>(
      std::make_shared<ZipNode<T, Ts...>>(first.node(), others.node()...));
}

}  // namespace recordpipe
