// choose_from_datasets: takes each element from the dataset whose index comes next in a dataset of
// indexes.
//
// Each input keeps its order; elements keep their ids. Saved state: which inputs have ended, and
// the positions in all inputs and in the indexes.
#include <algorithm>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dataset/base/require.h"
#include "dataset/pipeline/execute/chunk_reader.h"
#include "dataset/pipeline/execute/value_store.h"
#include "dataset/pipeline/operators/combining/merge.h"
#include "dataset/pipeline/plan/node.h"
#include "recordpipe/base/error.h"
#include "recordpipe/pipeline/internal/operators.h"

namespace recordpipe::internal {
namespace {

// The last input of a ChoosePlan: the indexes. Its own elements are the failures of indexes, which
// fail in the place of an element.
class ChoicePlan final : public StorePlan {
 public:
  ChoicePlan(std::shared_ptr<ValueStore> store, Stage choices, const StageContext& context)
      : StorePlan(std::move(store)), reader_(std::move(choices), context) {}

  // Returns false at the end and after a request to stop. Throws the plan's errors.
  bool fetch() { return reader_.fetch(); }
  bool is_at_hand() const { return reader_.is_at_hand(); }
  int64_t choice() const { return *static_cast<const int64_t*>(reader_.value()); }
  std::exception_ptr take_error() const { return reader_.take_error(); }
  void pass() { reader_.pass(); }
  Ticket fail(const std::exception_ptr& error) {
    return {reader_.id(), store().put_failure(error)};
  }

  void save(PlanState& state) const override { reader_.save(state.reset(1).inputs[0]); }

 protected:
  Stop do_plan(TicketSink&, Wait) override { return end_or_stop(); }
  void do_restart(Epoch epoch) override { reader_.restart(epoch); }
  void do_restore(const PlanState& state, Epoch epoch) override {
    reader_.restore(PlanNumbers(state, 1).input(), epoch);
  }
  void do_request_stop() override { reader_.request_stop(); }

 private:
  ChunkReader reader_;
};

class ChoosePlan final : public MergePlan {
 public:
  ChoosePlan(std::vector<std::unique_ptr<Plan>> inputs, bool stop_on_empty)
      : MergePlan(std::move(inputs)),
        stop_on_empty_(stop_on_empty),
        has_ended_(datasets(), false) {}

  void save(PlanState& state) const override {
    state.reset(input_count()).numbers.assign(has_ended_.begin(), has_ended_.end());
    state.numbers.push_back(all_ended_);
    save_inputs(state);
  }

 protected:
  Stop do_plan(TicketSink& out, Wait wait) override {
    while (!out.is_full()) {
      if (all_ended_) return Stop::end;
      if (out.count() > 0 && !choices().is_at_hand()) break;  // don't let elements wait
      if (!choices().fetch()) return end_or_stop();
      if (const std::exception_ptr error = next_error()) {
        Ticket ticket = choices().fail(error);
        label({&ticket, 1}, datasets());
        out.push(ticket);
        choices().pass();
        continue;
      }
      const auto chosen = static_cast<size_t>(choices().choice());
      if (!has_ended_[chosen]) {
        const Planned planned = plan_input(chosen, out, 1, out.count() == 0 ? wait : Wait::no);
        if (planned.count == 0 && planned.stop != Stop::end) return planned.stop;
        if (planned.count == 0) end(chosen);
      }
      choices().pass();
    }
    return Stop::none;
  }

  void do_restart(Epoch epoch) override {
    has_ended_.assign(datasets(), false);
    all_ended_ = false;
    restart_inputs(epoch);
  }

  void do_restore(const PlanState& state, Epoch epoch) override {
    PlanNumbers numbers(state, input_count());
    for (size_t i = 0; i < datasets(); ++i) has_ended_[i] = numbers.next_bool();
    all_ended_ = numbers.next_bool();
    restore_inputs(numbers, epoch);
  }

 private:
  size_t datasets() const { return input_count() - 1; }
  ChoicePlan& choices() { return static_cast<ChoicePlan&>(input(datasets())); }

  void end(size_t chosen) {
    has_ended_[chosen] = true;
    all_ended_ = stop_on_empty_ || std::ranges::find(has_ended_, false) == has_ended_.end();
  }

  // The error of the next index, or null.
  std::exception_ptr next_error() {
    if (auto error = choices().take_error()) return error;
    const int64_t choice = choices().choice();
    if (choice >= 0 && static_cast<uint64_t>(choice) < datasets()) return nullptr;
    return std::make_exception_ptr(
        Error({.kind = ErrorKind::invalid_argument,
               .reason = "choose_from_datasets: index " + std::to_string(choice) + " of " +
                         std::to_string(datasets()) + " datasets"}));
  }

  const bool stop_on_empty_;
  std::vector<bool> has_ended_;  // for each dataset
  bool all_ended_ = false;
};

class ChooseNode final : public MultiNode {
 public:
  ChooseNode(std::vector<NodePtr> inputs, const ElementOps& element, bool stop_on_empty)
      : MultiNode(std::move(inputs), element), stop_on_empty_(stop_on_empty) {}

 protected:
  PlanDescription describe_operator() const override {
    return {"choose_from_datasets", {{"stop_on_empty_dataset", stop_on_empty_}}};
  }
  Stage build_stage(const StageContext& context) const override {
    std::vector<Stage> stages = make_inputs(context);
    Stage& choices = stages.back();
    const size_t chunk_size = choices.chunk_size;
    choices = make_store_stage<ChoicePlan>(element(), chunk_size, std::move(choices), context);
    choices.plan->observe(context.memory, nullptr);
    return make_merge_stage<ChoosePlan>(std::move(stages), stop_on_empty_);
  }

 private:
  bool stop_on_empty_;
};

}  // namespace

NodePtr choose(std::vector<NodePtr> inputs, NodePtr choices, bool stop_on_empty) {
  require(!inputs.empty(), "choose_from_datasets: needs at least one dataset");
  const ElementOps& element = inputs.front()->element();
  inputs.push_back(std::move(choices));
  return std::make_shared<ChooseNode>(std::move(inputs), element, stop_on_empty);
}

}  // namespace recordpipe::internal
