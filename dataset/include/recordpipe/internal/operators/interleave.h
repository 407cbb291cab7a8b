// interleave, and flat_map over datasets: each element opens a Dataset, some are read in turns.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "recordpipe/internal/engine/executor.h"
#include "recordpipe/internal/engine/memory_account.h"
#include "recordpipe/internal/engine/node.h"
#include "recordpipe/internal/engine/stage.h"
#include "recordpipe/internal/engine/task_queue.h"
#include "recordpipe/internal/engine/value_store.h"
#include "recordpipe/internal/operators/map.h"
#include "recordpipe/internal/operators/open_input.h"

namespace recordpipe {

// Order, tf.data's deterministic one: a cycle of `cycle_length` places, each with an open input;
// `block_length` elements are taken from one, then from the next. Where an input ends, the next
// place has its turn, and the input that is opened in its stead waits for its own.
//
// Each open input is run by an Executor of its own, all on the same threads. Its passes begin in an
// epoch that is derived from the id of the element that opened it, and so are its elements' ids:
// what is random in it differs from input to input and from epoch to epoch.
//
// Inputs are read ahead in parallel, by tasks on the pool (task_queue.h): a task plans and computes
// the next elements of one input, which inflates a compressed file, while those before are handed
// out. Inputs are opened ahead of their turn where the cycle has empty places. Nothing is read
// ahead while less than half of memory_limit is free.
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
        queue_(std::make_shared<TaskQueue>(context_)),
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
    for (const Place& open : cycle_) {
      if (open && may_read_ahead()) open->read_ahead();
    }
  }

  void do_request_stop() override {
    stopping_ = true;
    inputs_.request_stop();
    const std::lock_guard lock(mutex_);
    for (const auto& open : cycle_) {
      if (open) open->request_stop();
    }
    for (const NextInput& next : ahead_) {
      if (next.open) next.open->request_stop();
    }
  }

  size_t chunk_size() const override { return context_.chunk_size; }

 private:
  using Place = std::unique_ptr<OpenInput<U>>;

  // An input that has no place yet: open, or why it can't be opened.
  struct NextInput {
    ElementId id = {};
    Place open = {};
    std::exception_ptr error = {};
  };

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
        open_ahead();
        next_turn();
      }
    } else if (!inputs_ended_) {
      ticket = open_next(open);
      if (open && may_read_ahead()) open->read_ahead();
      open_ahead();
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
    if (may_read_ahead()) open.read_ahead();
    return open.take();
  }

  bool may_read_ahead() const {
    const MemoryAccount& memory = *context_.memory;
    return context_.pool && (!memory.is_limited() || memory.has_room_for(memory.limit() / 2));
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
    if (ahead_.empty()) open_one_ahead();
    const std::lock_guard lock(mutex_);
    NextInput next = std::move(ahead_.front());
    ahead_.pop_front();
    ++input_at_;
    if (next.error) return failing(next.id, std::move(next.error));
    place = std::move(next.open);
    ++open_count_;
    return {};
  }

  // Opens inputs for places of the cycle that are empty, so that they can be read before their turn
  // comes: no more at once than there are threads.
  void open_ahead() {
    while (open_count_ + ahead_.size() < cycle_.size() && ahead_.size() < context_.threads &&
           input_at_ + ahead_.size() < input_chunk_.size() && may_read_ahead()) {
      open_one_ahead();
      if (ahead_.back().open) ahead_.back().open->read_ahead();
    }
  }

  void open_one_ahead() {
    const size_t at = input_at_ + ahead_.size();
    NextInput next{.id = input_chunk_.tickets[at].id, .error = input_chunk_.take_error_at(at)};
    if (!next.error) {
      try {
        const uint64_t position = inputs_.position() + at;
        PlanState here;
        inputs_.save(position, here);
        next.open = std::make_unique<OpenInput<U>>(
            std::move(input_chunk_.values[at]), context_, next.id, position, std::move(here),
            std::max(block_length_, kFetchSize), this->store(), *queue_);
      } catch (...) {
        next.error = std::current_exception();
      }
    }
    const std::lock_guard lock(mutex_);
    if (stopping_ && next.open) next.open->request_stop();
    ahead_.push_back(std::move(next));
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

  void drop_inputs() {
    std::deque<NextInput> dropped;
    const std::lock_guard lock(mutex_);
    dropped.swap(ahead_);
    input_chunk_ = {};
    input_at_ = 0;
  }

  void go_to(const PlanState& base, uint64_t offset, uint64_t epoch) {
    drop_inputs();
    restore_place(inputs_, base, epoch);
    if (pass_over(inputs_, offset) < offset) fail_state();
  }

  void forget() {
    stopping_ = false;
    for (Place& open : cycle_) {
      if (open) close(open);
    }
    drop_inputs();
    inputs_ended_ = false;
    turn_ = taken_in_turn_ = 0;
  }

  // Elements that an input fetches at a time, at least: small ones are fetched in no time.
  static constexpr size_t kFetchSize = 256;

  const size_t block_length_;
  const StageContext context_;
  Executor<Input> inputs_;
  typename Executor<Input>::Chunk input_chunk_;
  size_t input_at_ = 0;  // what comes next
  bool inputs_ended_ = false;
  const std::shared_ptr<TaskQueue> queue_;
  std::mutex mutex_;  // guards the next two where another thread stops them
  std::vector<Place> cycle_;
  std::deque<NextInput> ahead_;  // opened for the elements of input_chunk_ from input_at_ on
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
