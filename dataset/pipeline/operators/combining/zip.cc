// zip: combines the elements of several datasets position by position.
//
// Keeps the order and ends with the shortest input. An output's id is its number; each input has
// its own epoch (input_epoch), so random numbers drawn upstream differ between inputs. A failing
// element of an input makes the output fail. Has random access if all inputs have it. Saved state:
// the number of outputs, and the positions in all inputs.
#include <algorithm>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "dataset/pipeline/plan/node.h"
#include "dataset/pipeline/plan/ref_store.h"
#include "dataset/pipeline/state/plan_snapshots.h"
#include "recordpipe/pipeline/internal/operators.h"

namespace recordpipe::internal {
namespace {

class ZipProducer final : public Producer {
 public:
  ZipProducer(const std::vector<std::shared_ptr<Work>>& works, const TupleOps& tuple,
              GatheredTickets& groups)
      : tuple_(tuple), groups_(groups) {
    for (const auto& work : works) {
      producers_.push_back(work->make_producer());
      values_.emplace_back(work->element());
    }
  }

 protected:
  Failures do_produce(std::span<const Ticket> tickets, void* out) override {
    const size_t count = tickets.size();
    scratch_.resize(std::max(scratch_.size(), count));
    const std::span<TicketGroup> groups = std::span(scratch_).first(count);
    groups_.take(tickets, groups);
    members_.resize(count);
    Failures failures;
    for (size_t k = 0; k < producers_.size(); ++k) {
      for (size_t i = 0; i < count; ++i) members_[i] = groups[i][k];
      ElementBuffer& values = values_[k];
      values.grow(count);
      for (Failure& failure : producers_[k]->produce(members_, values.data())) {
        failures.push_back(std::move(failure));
      }
      for (size_t i = 0; i < count; ++i) {
        values.ops().swap(tuple_.member(element_at(out, tuple_.tuple, i), k), values.at(i));
      }
    }
    // If several inputs fail for one element, keep the failure of the first input.
    std::ranges::stable_sort(failures, {}, &Failure::at);
    const auto twice = std::ranges::unique(failures, {}, &Failure::at);
    failures.erase(twice.begin(), twice.end());
    return failures;
  }

 private:
  const TupleOps& tuple_;
  GatheredTickets& groups_;
  std::vector<std::unique_ptr<Producer>> producers_;
  std::vector<ElementBuffer> values_;  // one for each input
  std::vector<TicketGroup> scratch_;
  std::vector<Ticket> members_;
};

class ZipPlan final : public Plan {
 public:
  ZipPlan(std::vector<std::unique_ptr<Plan>> inputs, std::shared_ptr<GatheredTickets> groups)
      : groups_(std::move(groups)) {
    for (auto& input : inputs) inputs_.push_back(std::make_unique<Input>(std::move(input)));
    restart(0);
  }

  void discard(std::span<const Ticket> tickets) override {
    std::vector<TicketGroup> groups(tickets.size());
    groups_->take(tickets, groups);
    for (size_t k = 0; k < inputs_.size(); ++k) {
      for (const TicketGroup& group : groups) inputs_[k]->plan->discard({&group[k], 1});
    }
  }

  uint64_t size() override {
    uint64_t least = UINT64_MAX;
    for (const auto& input : inputs_) least = std::min(least, input->plan->size());
    return least;
  }

  void save(PlanState& state) const override {
    state.reset(inputs_.size()).numbers = {next_};
    for (size_t k = 0; k < inputs_.size(); ++k) inputs_[k]->places.save(next_, state.inputs[k]);
  }

 protected:
  void charge_to(const std::shared_ptr<MemoryAccount>& account) override {
    groups_->charge_to(account);
    for (const auto& input : inputs_) input->places.charge_to(account);
  }

  Stop do_plan(TicketSink& out, Wait wait) override {
    // If one input is ahead of the others, the others catch up first.
    size_t wanted = 0;
    for (const auto& input : inputs_) wanted = std::max(wanted, input->ahead.size());
    wanted = wanted == 0 ? out.room().size() : std::min(wanted, out.room().size());
    // Each input is asked for at most as many tickets as the inputs before it have. So which input
    // ends or fails first doesn't depend on the size of requests.
    Stop stop = Stop::none;
    for (const auto& input : inputs_) {
      const Stop here = fill(*input, wanted, wait);
      if (input->ahead.size() < wanted) {
        wanted = input->ahead.size();
        stop = here;
      }
      if (wanted == 0) break;
    }
    if (wanted == 0) {
      if (stop == Stop::end) discard_ahead();
      return stop;
    }
    const std::span<Ticket> tickets = out.room().first(wanted);
    zip(tickets);
    for (Ticket& ticket : tickets) {
      ticket.id = {epoch_, ends_source(ticket.id) ? kEndOfSource : next_};
      ++next_;
    }
    for (const auto& input : inputs_) input->places.release(next_);
    out.take(wanted);
    return Stop::none;
  }

  Stop do_advance(uint64_t count, uint64_t& passed) override {
    Stop stop = Stop::none;
    std::exception_ptr error;
    for (const auto& input : inputs_) {
      uint64_t here = std::min<uint64_t>(count, input->ahead.size());
      discard_first(*input, static_cast<size_t>(here));
      if (here == count) continue;
      try {
        const Stop missing = advance_all(*input->plan, count - here, here);
        if (here == count) continue;
        stop = missing;
        error = nullptr;  // this input ends before the earlier one fails
      } catch (...) {
        error = std::current_exception();
      }
      count = here;
      if (count == 0) break;
    }
    passed = count;
    next_ += count;
    for (const auto& input : inputs_) input->places.release(next_);
    if (error) std::rethrow_exception(error);
    return stop;
  }

  void do_tickets_at(std::span<const uint64_t> places, std::span<Ticket> out) override {
    scratch_.assign(places.size(), TicketGroup(inputs_.size()));
    for (size_t k = 0; k < inputs_.size(); ++k) {
      inputs_[k]->plan->tickets_at(places, out);
      for (size_t i = 0; i < places.size(); ++i) scratch_[i][k] = out[i];
    }
    groups_->put(scratch_, out);
    for (size_t i = 0; i < places.size(); ++i) out[i].id = {epoch_, places[i]};
  }

  void do_restart(Epoch epoch) override {
    discard_ahead();
    epoch_ = epoch.ids;
    next_ = 0;
    for (size_t k = 0; k < inputs_.size(); ++k) inputs_[k]->plan->restart(input_epoch(epoch, k));
    start_places();
  }

  void do_restore(const PlanState& state, Epoch epoch) override {
    PlanNumbers numbers(state, inputs_.size());
    discard_ahead();
    epoch_ = epoch.ids;
    next_ = numbers.next();
    for (size_t k = 0; k < inputs_.size(); ++k) {
      restore_place(*inputs_[k]->plan, numbers.input(k), input_epoch(epoch, k));
    }
    start_places();
  }

  void do_request_stop() override {
    for (const auto& input : inputs_) input->plan->request_stop();
  }

 private:
  struct Input {
    explicit Input(std::unique_ptr<Plan> p) : plan(std::move(p)) {}
    std::unique_ptr<Plan> plan;
    std::vector<Ticket> ahead;  // planned, but not yet zipped
    PlanSnapshots places;       // needed because the plan may be ahead
  };

  // Plans up to `wanted` tickets ahead; returns the reason if there are fewer.
  Stop fill(Input& input, size_t wanted, Wait wait) {
    std::vector<Ticket>& ahead = input.ahead;
    while (ahead.size() < wanted) {
      const size_t before = ahead.size();
      input.places.take(*input.plan, next_ + before);
      ahead.resize(wanted);
      Planned planned;
      try {
        planned = input.plan->plan(std::span(ahead).subspan(before), before == 0 ? wait : Wait::no);
      } catch (...) {
        ahead.resize(before);
        if (before == 0) throw;  // otherwise, a later call throws it again
        return Stop::none;
      }
      ahead.resize(before + planned.count);
      if (planned.stop != Stop::none) return planned.stop;
    }
    return Stop::none;
  }

  // Combines the first tickets of all inputs into groups.
  void zip(std::span<Ticket> out) {
    scratch_.resize(out.size());
    for (TicketGroup& group : scratch_) group.resize(inputs_.size());
    for (size_t k = 0; k < inputs_.size(); ++k) {
      std::vector<Ticket>& ahead = inputs_[k]->ahead;
      for (size_t i = 0; i < out.size(); ++i) scratch_[i][k] = ahead[i];
      ahead.erase(ahead.begin(), ahead.begin() + static_cast<std::ptrdiff_t>(out.size()));
    }
    for (size_t i = 0; i < out.size(); ++i) {
      const auto end = std::ranges::find_if(scratch_[i], ends_source, &Ticket::id);
      out[i].id = end == scratch_[i].end() ? ElementId{} : end->id;
    }
    groups_->put(scratch_, out);
  }

  static void discard_first(Input& input, size_t count) {
    input.plan->discard(std::span(input.ahead).first(count));
    input.ahead.erase(input.ahead.begin(),
                      input.ahead.begin() + static_cast<std::ptrdiff_t>(count));
  }

  void discard_ahead() {
    for (const auto& input : inputs_) discard_first(*input, input->ahead.size());
  }

  void start_places() {
    for (const auto& input : inputs_) input->places.start(*input->plan, next_);
  }

  std::vector<std::unique_ptr<Input>> inputs_;
  std::shared_ptr<GatheredTickets> groups_;
  std::vector<TicketGroup> scratch_;
  uint64_t epoch_ = 0;
  uint64_t next_ = 0;
};

class ZipNode final : public MultiNode {
 public:
  ZipNode(std::vector<NodePtr> inputs, const TupleOps& tuple)
      : MultiNode(std::move(inputs), tuple.tuple), tuple_(tuple) {}
  std::string sequential_operator() const override { return first_sequential_operator(); }
  Cardinality cardinality() const override {
    Cardinality least = kInfiniteCardinality;
    for (const NodePtr& input : inputs()) {
      const Cardinality one = input->cardinality();
      if (one == kUnknownCardinality) return one;
      if (one >= 0) least = least < 0 ? one : std::min(least, one);
    }
    return least;
  }

 protected:
  PlanDescription describe_operator() const override { return {"zip", {}}; }
  Stage build_stage(const StageContext& context) const override {
    std::vector<std::unique_ptr<Plan>> plans;
    std::vector<std::shared_ptr<Work>> works;
    size_t chunk_size = SIZE_MAX;
    for (Stage& input : make_inputs(context)) {
      plans.push_back(std::move(input.plan));
      works.push_back(std::move(input.work));
      chunk_size = std::min(chunk_size, input.chunk_size);
    }
    auto groups = std::make_shared<GatheredTickets>();
    auto plan = std::make_unique<ZipPlan>(std::move(plans), groups);
    const bool is_heavy = std::ranges::any_of(works, &Work::is_heavy);
    auto work = std::make_shared<Work>(
        tuple_.tuple, is_heavy, [this, works = std::move(works), groups = std::move(groups)] {
          return std::make_unique<ZipProducer>(works, tuple_, *groups);
        });
    return {std::move(plan), std::move(work), chunk_size};
  }

 private:
  const TupleOps& tuple_;
};

}  // namespace

NodePtr zip(std::vector<NodePtr> inputs, const TupleOps& tuple) {
  return std::make_shared<ZipNode>(std::move(inputs), tuple);
}

}  // namespace recordpipe::internal
