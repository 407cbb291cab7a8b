// interleave, and flat_map over datasets: each element opens a Dataset, some are read in turns.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dataset/pipeline/executor.h"
#include "dataset/pipeline/keep_alive.h"
#include "dataset/pipeline/map.h"
#include "dataset/pipeline/memory_account.h"
#include "dataset/pipeline/node.h"
#include "dataset/pipeline/open_input.h"
#include "dataset/pipeline/stage.h"
#include "dataset/pipeline/value_store.h"

namespace recordpipe {

// Order, tf.data's deterministic one: a cycle of `cycle_length` places, each with an open input;
// `block_length` elements are taken from one, then from the next. Where an input ends, the next
// place has its turn, and the input that is opened in its stead waits for its own.
//
// Each open input is run by an Executor of its own, all on the same threads. Its passes begin in an
// epoch that is derived from the id of the element that opened it, and so are its elements' ids:
// what is random in it differs from input to input and from epoch to epoch.
//
// An element that fails is one that fails here. Where an input can't be opened, or ends with an
// error, that is one failing element, and the other inputs go on.
//
// Saved: whose turn it is, which elements of the input are open and the place in each of them; the
// input's place is that of the oldest open one. The plan doesn't know the files that inputs will
// read, so the state says which they have opened (iterator_state.h).
template <Element U>
class InterleaveStage final : public StoreStage<U> {
 public:
  using Input = typename OpenInput<U>::Input;

  InterleaveStage(std::unique_ptr<Stage<Input>> inputs, size_t cycle_length, size_t block_length,
                  const StageContext& context)
      : block_length_(block_length),
        context_(context.unmonitored()),
        inputs_(std::move(inputs), context),
        cycle_(cycle_length) {}

  size_t do_plan(std::span<Ticket> out, Wait) override {
    size_t planned = 0;
    try {
      while (planned < out.size() && !stopping_ && (open_count_ > 0 || !inputs_ended_)) {
        if (planned > 0 && next_may_be_long()) break;  // what is there doesn't wait for it
        if (const auto ticket = step()) out[planned++] = *ticket;
      }
    } catch (...) {
      if (planned == 0) throw;  // else thrown again by the next call
    }
    return planned;
  }

  void do_restart(uint64_t epoch) override {
    forget();
    inputs_.restart(epoch);
  }

  void save(PlanState& state) const override {
    const uint64_t taken = inputs_.position() + input_at_;
    const OpenInput<U>* oldest = nullptr;
    for (const auto& open : cycle_) {
      if (open && (!oldest || open->position() < oldest->position())) oldest = open.get();
    }
    const uint64_t base = oldest ? oldest->position() : taken;
    state.reset(1 + open_count_).numbers = {turn_, taken_in_turn_, taken - base};
    if (oldest) {
      state.inputs[0] = oldest->opened_at();
    } else {
      inputs_.save(taken, state.inputs[0]);
    }
    size_t input = 1;
    for (const auto& open : cycle_) {
      state.numbers.push_back(open ? 1 + 2 * (open->position() - base) + open->has_failed() : 0);
      if (open) open->save(state.inputs[input++]);
    }
  }

  void do_restore(const PlanState& state, uint64_t epoch) override {
    if (state.inputs.empty()) fail_state();
    PlanNumbers numbers(state, state.inputs.size());
    forget();
    const size_t turn = numbers.next(cycle_.size() - 1);
    const size_t taken_in_turn = numbers.next(block_length_ - 1);
    const uint64_t taken = numbers.next();
    for (Place& place : cycle_) {
      const uint64_t number = numbers.next();
      if (number == 0) continue;
      const uint64_t offset = (number - 1) / 2;
      if (offset >= taken || open_count_ + 1 >= state.inputs.size()) fail_state();
      go_to(numbers.input(0), offset, epoch);
      if (open_next(place) || !place) fail_state();
      place->restore(numbers.input(open_count_), /*failed=*/(number - 1) % 2 == 1);
    }
    go_to(numbers.input(0), taken, epoch);
    turn_ = turn;
    taken_in_turn_ = taken_in_turn;
  }

  void do_request_stop() override {
    stopping_ = true;
    inputs_.request_stop();
    const std::lock_guard lock(mutex_);
    for (const auto& open : cycle_) {
      if (open) open->request_stop();
    }
  }

  size_t chunk_size() const override { return context_.chunk_size; }

 private:
  using Place = std::unique_ptr<OpenInput<U>>;

  // The next step reads on in an input, or opens one.
  bool next_may_be_long() const {
    const Place& open = cycle_[turn_];
    return open ? !open->has_next() : !inputs_ended_;
  }

  // The next element, if this step brings one.
  std::optional<Ticket> step() {
    Place& open = cycle_[turn_];
    std::optional<Ticket> ticket;
    if (open) {
      ticket = next_of(*open);
      if (ticket) {
        if (++taken_in_turn_ == block_length_) next_turn();
      } else if (!stopping_) {
        close(open);
        next_turn();
      }
    } else if (!inputs_ended_) {
      ticket = open_next(open);
    } else {
      next_turn();
    }
    return ticket;
  }

  void next_turn() {
    taken_in_turn_ = 0;
    turn_ = (turn_ + 1) % cycle_.size();
  }

  // Nothing at its end.
  std::optional<Ticket> next_of(OpenInput<U>& open) {
    try {
      if (!open.fetch()) return {};
    } catch (const MemoryLimitExceeded&) {
      throw;
    } catch (...) {
      return failing(open.id(), std::current_exception());
    }
    keep_alive(open.chunk().values[open.at()], open.source());
    Ticket ticket = this->keep(open.chunk(), open.at());
    open.pass();
    // Not the same id as within the input: operators there have drawn for that.
    ticket.id.epoch = derive_key(ticket.id.epoch, kHandedOn);
    return ticket;
  }

  // Opens the next input in `place`; a ticket where it can't be opened. At the end of the inputs
  // neither.
  std::optional<Ticket> open_next(Place& place) {
    if (input_at_ == input_chunk_.size()) {
      input_at_ = 0;
      input_chunk_ = {};
      input_chunk_ = inputs_.next_with_failures();
      inputs_.release(inputs_.position());
      if (input_chunk_.empty()) {
        inputs_ended_ = !stopping_;
        return {};
      }
    }
    const size_t at = input_at_++;
    const ElementId id = input_chunk_.tickets[at].id;
    if (auto error = input_chunk_.take_error_at(at)) return failing(id, std::move(error));
    Place open;
    try {
      const uint64_t position = inputs_.position() + at;
      PlanState here;
      inputs_.save(position, here);
      open = std::make_unique<OpenInput<U>>(std::move(input_chunk_.values[at]), context_, id,
                                            position, std::move(here));
    } catch (...) {
      return failing(id, std::current_exception());
    }
    const std::lock_guard lock(mutex_);
    if (stopping_) open->request_stop();
    place = std::move(open);
    ++open_count_;
    return {};
  }

  Ticket failing(const ElementId& opener, std::exception_ptr error) {
    return {child_id(opener, UINT64_MAX), this->store().put_failure(std::move(error))};
  }

  void close(Place& place) {
    Place closed;
    const std::lock_guard lock(mutex_);
    closed = std::move(place);
    --open_count_;
  }

  void go_to(const PlanState& base, uint64_t offset, uint64_t epoch) {
    input_chunk_ = {};
    input_at_ = 0;
    restore_place(inputs_, base, epoch);
    if (pass_over(inputs_, offset) < offset) fail_state();
  }

  void forget() {
    stopping_ = false;
    for (Place& open : cycle_) {
      if (open) close(open);
    }
    input_chunk_ = {};
    input_at_ = 0;
    inputs_ended_ = false;
    turn_ = taken_in_turn_ = 0;
  }

  static constexpr uint64_t kHandedOn = 0x696E707574;

  const size_t block_length_;
  const StageContext context_;
  Executor<Input> inputs_;
  typename Executor<Input>::Chunk input_chunk_;
  size_t input_at_ = 0;
  bool inputs_ended_ = false;
  std::vector<Place> cycle_;  // guarded by mutex_ where another thread stops it
  std::mutex mutex_;
  size_t open_count_ = 0;
  size_t turn_ = 0;  // a place in the cycle
  size_t taken_in_turn_ = 0;
  std::atomic<bool> stopping_ = false;
};

// `Function` gives the Node of the Dataset that an element opens.
template <Element T, Element U, class Function>
class InterleaveNode final : public UnaryNode<U, T> {
 public:
  // `name` is flat_map where there is nothing to take turns.
  InterleaveNode(std::shared_ptr<const Node<T>> upstream, std::string name, size_t cycle_length,
                 size_t block_length, Function function)
      : UnaryNode<U, T>(std::move(upstream)),
        name_(std::move(name)),
        cycle_length_(cycle_length),
        block_length_(block_length),
        function_{std::move(function)} {}
  std::unique_ptr<Stage<U>> build_stage(const StageContext& context) const override {
    using Input = typename InterleaveStage<U>::Input;
    auto inputs = std::make_unique<MapStage<T, Input, WithoutRandom<Function>>>(
        this->upstream().make_stage(context), function_);
    return std::make_unique<InterleaveStage<U>>(std::move(inputs), cycle_length_, block_length_,
                                                context);
  }

  PlanDescription describe() const override {
    if (name_ == "flat_map") return this->described(name_, {{"inputs", std::string("datasets")}});
    return this->described(name_,
                           {{"cycle_length", cycle_length_}, {"block_length", block_length_}});
  }

 private:
  std::string name_;
  size_t cycle_length_;
  size_t block_length_;
  WithoutRandom<Function> function_;
};

}  // namespace recordpipe
