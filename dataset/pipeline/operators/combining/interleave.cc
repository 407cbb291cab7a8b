// interleave, and flat_map over Datasets: each element opens a Dataset; several Datasets are read
// in turn.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dataset/base/require.h"
#include "dataset/pipeline/execute/executor.h"
#include "dataset/pipeline/execute/memory_account.h"
#include "dataset/pipeline/execute/task_queue.h"
#include "dataset/pipeline/operators/combining/open_input.h"
#include "dataset/pipeline/operators/functions/map.h"
#include "dataset/pipeline/plan/lost_sources.h"
#include "dataset/pipeline/plan/node.h"
#include "dataset/pipeline/plan/open_files.h"
#include "recordpipe/pipeline/internal/operators.h"

namespace recordpipe::internal {
namespace {

// The order is that of tf.data's deterministic mode. A cycle has `cycle_length` slots, each with an
// open input; `block_length` elements are taken from one slot, then from the next. When an input
// ends, the next slot is used, and the replacement input waits for its slot's turn.
//
// Each open input has its own Executor; all Executors use the same threads. An input's epochs and
// the ids of its elements are derived from the id of the element that opened it, so random numbers
// differ from input to input and from epoch to epoch.
//
// Inputs are read ahead in parallel, by tasks on the crew (task_queue.h). A task plans and computes
// the next elements of one input (for a compressed file, this includes inflating) while earlier
// elements are consumed. Inputs are opened ahead of their turn if the cycle has empty slots.
// Nothing is read ahead while less than half of memory_limit is free.
//
// A failing element yields one failing element. An input that can't be opened, or ends with an
// error, yields one failing element; the other inputs continue.
//
// Saved state: which slot's turn it is, which inputs are open, the position in each of them, and
// the position (in interleave's own input) of the oldest element whose input is open. The plan
// doesn't know the files that inputs will read, so the state lists the files that they have opened
// (iterator_state.h).
class InterleavePlan final : public StorePlan {
 public:
  InterleavePlan(std::shared_ptr<ValueStore> store, Stage inputs, size_t cycle_length,
                 size_t block_length, const StageContext& context)
      : StorePlan(std::move(store)),
        block_length_(block_length),
        context_(context_of_inputs(context)),
        inputs_(std::move(inputs), context),
        queue_(std::make_shared<TaskQueue>(context_)),
        cycle_(cycle_length) {}

  void save(PlanState& state) const override {
    const uint64_t taken = inputs_.position() + input_at_;
    const OpenInput* oldest = nullptr;
    for (const Place& open : cycle_) {
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
    for (const Place& open : cycle_) {
      state.numbers.push_back(open ? 1 + 2 * (open->position() - base) + open->has_failed() : 0);
      if (open) open->save(state.inputs[input++]);
    }
  }

 protected:
  Stop do_plan(TicketSink& out, Wait) override {
    while (!out.is_full()) {
      if (is_stopping()) return Stop::requested;
      if (open_count_ == 0 && inputs_ended_) return Stop::end;
      if (out.count() > 0 && next_may_be_long()) break;  // don't let finished elements wait
      if (const auto ticket = step()) out.push(*ticket);
    }
    return Stop::none;
  }

  void do_restart(Epoch epoch) override {
    forget();
    inputs_.restart(epoch);
  }

  void do_restore(const PlanState& state, Epoch epoch) override {
    if (state.inputs.empty()) fail_state();
    PlanNumbers numbers(state, state.inputs.size());
    forget();
    const size_t turn = numbers.next(cycle_.size() - 1);
    const size_t taken_in_turn = numbers.next(block_length_ - 1);
    const uint64_t taken = numbers.next();
    std::vector<SavedInput> inputs;
    for (Place& place : cycle_) {
      const uint64_t number = numbers.next();
      if (number == 0) continue;
      inputs.push_back({(number - 1) / 2, (number - 1) % 2 == 1, inputs.size() + 1, &place});
      if (inputs.back().offset >= taken || inputs.size() >= state.inputs.size()) fail_state();
    }
    // In the order of the input's elements.
    std::ranges::sort(inputs, {}, &SavedInput::offset);
    for (const SavedInput& saved : inputs) {
      go_to(numbers.input(0), saved.offset, epoch);
      Place& place = *saved.place;
      if (open_next(place) || !place) fail_state();
      place->restore(numbers.input(saved.state), saved.has_failed);
    }
    go_to(numbers.input(0), taken, epoch);
    turn_ = turn;
    taken_in_turn_ = taken_in_turn;
    for (const Place& open : cycle_) {
      if (open && may_read_ahead()) open->read_ahead();
    }
  }

  void do_request_stop() override {
    inputs_.request_stop();
    const std::lock_guard lock(mutex_);
    for (const Place& open : cycle_) {
      if (open) open->request_stop();
    }
    for (const NextInput& next : ahead_) {
      if (next.open) next.open->request_stop();
    }
  }

 private:
  using Place = std::unique_ptr<OpenInput>;

  // An open input in a state that is being restored.
  struct SavedInput {
    uint64_t offset;  // of the element that opened it, relative to the oldest such element
    bool has_failed;
    size_t state;  // index of its state in PlanState::inputs
    Place* place;
  };

  // An input that has no slot yet: open, or failed to open.
  struct NextInput {
    ElementId id = {};
    Place open = {};
    std::exception_ptr error = {};
  };

  // Whether the next step must fetch elements of an input, or open an input.
  bool next_may_be_long() const {
    const Place& open = cycle_[turn_];
    return open ? !open->has_next() : !inputs_ended_;
  }

  // Does one step; returns the next element if the step yields one.
  std::optional<Ticket> step() {
    Place& open = cycle_[turn_];
    std::optional<Ticket> ticket;
    if (open) {
      ticket = next_of(*open);
      if (ticket) {
        if (++taken_in_turn_ == block_length_) next_turn();
      } else if (!is_stopping()) {
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

  // Returns the next element of `open`; empty at the end.
  std::optional<Ticket> next_of(OpenInput& open) {
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
    return context_.crew && (!memory.is_limited() || memory.has_room_for(memory.limit() / 2));
  }

  // Opens the next input in `place`. Returns a failing ticket if the input can't be opened; does
  // nothing at the end of the inputs.
  std::optional<Ticket> open_next(Place& place) {
    if (input_at_ == input_chunk_.size()) {
      input_at_ = 0;
      input_chunk_ = {};
      input_chunk_ = inputs_.next_with_failures();
      inputs_.release(inputs_.position());
      if (input_chunk_.empty()) {
        inputs_ended_ = !is_stopping();
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

  // Opens inputs for empty slots of the cycle, so that they can be read before their turn; at any
  // time, at most as many as there are threads.
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
        next.open = std::make_unique<OpenInput>(
            std::move(*static_cast<NodePtr*>(input_chunk_.value(at))), context_, next.id, position,
            std::move(here), std::max(block_length_, kFetchSize), store(), *queue_);
      } catch (...) {
        next.error = std::current_exception();
      }
    }
    const std::lock_guard lock(mutex_);
    if (is_stopping() && next.open) next.open->request_stop();
    ahead_.push_back(std::move(next));
  }

  Ticket failing(const ElementId& opener, std::exception_ptr error) {
    return lost_source(opener, std::move(error), store(), context_);
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

  // Moves inputs_ to the element `offset` elements after the state `base`; without a restore if
  // possible, because a restore may take long.
  void go_to(const PlanState& base, uint64_t offset, Epoch epoch) {
    const uint64_t first = inputs_.position();
    const uint64_t wanted = base.passed_over + offset;
    if (!input_chunk_.empty() && wanted >= first + input_at_ &&
        wanted <= first + input_chunk_.size()) {
      input_at_ = wanted - first;
      return;
    }
    drop_inputs();
    inputs_.restore(base, epoch);
    uint64_t passed = 0;
    inputs_.advance(offset, passed);
    if (passed < offset) fail_state();
  }

  void forget() {
    for (Place& open : cycle_) {
      if (open) close(open);
    }
    drop_inputs();
    inputs_ended_ = false;
    turn_ = taken_in_turn_ = 0;
  }

  // Minimum number of elements that an input fetches at a time: small elements take almost no time.
  static constexpr size_t kFetchSize = 256;

  const size_t block_length_;
  const StageContext context_;
  Executor inputs_;
  Chunk input_chunk_;
  size_t input_at_ = 0;  // index of the next element
  bool inputs_ended_ = false;
  const std::shared_ptr<TaskQueue> queue_;
  std::mutex mutex_;  // guards cycle_ and ahead_ against request_stop() from another thread
  std::vector<Place> cycle_;
  std::deque<NextInput> ahead_;  // opened for the elements of input_chunk_ from input_at_ on
  size_t open_count_ = 0;
  size_t turn_ = 0;  // a slot of the cycle
  size_t taken_in_turn_ = 0;
};

class InterleaveNode final : public UnaryNode {
 public:
  InterleaveNode(NodePtr input, std::unique_ptr<const MapFunction> function,
                 const ElementOps& element, std::string name, size_t cycle_length,
                 size_t block_length)
      : UnaryNode(std::move(input), element),
        function_(std::move(function)),
        name_(std::move(name)),
        cycle_length_(cycle_length),
        block_length_(block_length) {}
  bool may_lose_sources() const override { return true; }

 protected:
  PlanDescription describe_operator() const override {
    PlanDescription plan{name_, {{"cycle_length", cycle_length_}, {"block_length", block_length_}}};
    if (name_ == "flat_map") plan.parameters = {{"inputs", std::string("datasets")}};
    plan.add(function_->parameters());
    return plan;
  }
  Stage build_stage(const StageContext& context) const override {
    Stage inputs = mapped(input().make_stage(context), *function_, element_ops<NodePtr>());
    return make_store_stage<InterleavePlan>(element(), context.chunk_size, std::move(inputs),
                                            cycle_length_, block_length_, context);
  }

 private:
  std::unique_ptr<const MapFunction> function_;
  std::string name_;
  size_t cycle_length_;
  size_t block_length_;
};

}  // namespace

NodePtr interleave(NodePtr input, std::unique_ptr<const MapFunction> function,
                   const ElementOps& element, std::string name, size_t cycle_length,
                   size_t block_length) {
  require(cycle_length > 0 && cycle_length <= 65536, "interleave: cycle_length must be 1 to 65536");
  require(block_length > 0, "interleave: block_length must be at least 1");
  return std::make_shared<InterleaveNode>(std::move(input), std::move(function), element,
                                          std::move(name), cycle_length, block_length);
}

}  // namespace recordpipe::internal
