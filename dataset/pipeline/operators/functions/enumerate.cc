// enumerate: pairs each element with its number in the order of the input.
//
// Numbers begin at `start`, anew in each epoch if repeat comes after enumerate. Elements keep their
// ids, so random numbers downstream still depend on the element only. Has random access if the
// input has it: the number is then `start` plus the element's index. Saved state: the number of
// elements returned, and the input's position.
#include <string>
#include <utility>
#include <vector>

#include "dataset/pipeline/plan/node.h"
#include "dataset/pipeline/plan/ref_store.h"
#include "recordpipe/pipeline/internal/operators.h"

namespace recordpipe::internal {
namespace {

// The value that a ticket of enumerate refers to.
struct NumberedRef {
  uint64_t number = 0;  // start + count, modulo 2^64
  uint64_t ref = 0;     // the ref of the input's ticket
};

using NumberedRefs = RefStore<NumberedRef>;

// Takes the values of `tickets` out of `refs` into `numbered`, and writes the input's tickets to
// `inputs`.
void take_inputs(std::span<const Ticket> tickets, NumberedRefs& refs,
                 std::vector<NumberedRef>& numbered, std::vector<Ticket>& inputs) {
  numbered.resize(tickets.size());
  refs.take(tickets, numbered);
  inputs.assign(tickets.begin(), tickets.end());
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i].ref = numbered[i].ref;
}

class EnumerateProducer final : public Producer {
 public:
  EnumerateProducer(std::unique_ptr<Producer> input, const ElementOps& element, const PairOps& pair,
                    NumberedRefs& refs)
      : input_(std::move(input)), values_(element), pair_(pair), refs_(refs) {}

 protected:
  Failures do_produce(std::span<const Ticket> tickets, void* out) override {
    take_inputs(tickets, refs_, numbered_, inputs_);
    values_.grow(tickets.size());
    Failures failures = input_->produce(inputs_, values_.data());
    for (size_t i = 0; i < tickets.size(); ++i) {
      void* const pair = element_at(out, pair_.pair, i);
      pair_.set_number(pair, static_cast<int64_t>(numbered_[i].number));
      values_.ops().swap(pair_.element(pair), values_.at(i));
    }
    return failures;
  }

 private:
  std::unique_ptr<Producer> input_;
  ElementBuffer values_;
  const PairOps& pair_;
  NumberedRefs& refs_;
  std::vector<NumberedRef> numbered_;
  std::vector<Ticket> inputs_;
};

class EnumeratePlan final : public OrderPlan {
 public:
  EnumeratePlan(std::unique_ptr<Plan> input, uint64_t start, std::shared_ptr<NumberedRefs> refs)
      : OrderPlan(std::move(input)), start_(start), refs_(std::move(refs)) {}

  void discard(std::span<const Ticket> tickets) override {
    std::vector<NumberedRef> numbered;
    std::vector<Ticket> inputs;
    take_inputs(tickets, *refs_, numbered, inputs);
    input().discard(inputs);
  }

  uint64_t size() override { return input().size(); }

  void save(PlanState& state) const override {
    state.reset(1).numbers = {next_};
    input().save(state.inputs[0]);
  }

 protected:
  void charge_to(const std::shared_ptr<MemoryAccount>& account) override {
    refs_->charge_to(account);
  }

  Stop do_plan(TicketSink& out, Wait wait) override {
    const std::span<Ticket> tickets = out.room();
    const Planned planned = input().plan(tickets, wait);
    numbered_.resize(planned.count);
    for (size_t i = 0; i < planned.count; ++i) numbered_[i] = {start_ + next_++, tickets[i].ref};
    refs_->put(numbered_, tickets);
    out.take(planned.count);
    return planned.stop;
  }

  Stop do_advance(uint64_t count, uint64_t& passed) override {
    const Planned planned = input().advance(count);
    passed = planned.count;
    next_ += passed;
    return planned.stop;
  }

  void do_tickets_at(std::span<const uint64_t> places, std::span<Ticket> out) override {
    input().tickets_at(places, out);
    numbered_.resize(places.size());
    for (size_t i = 0; i < places.size(); ++i) numbered_[i] = {start_ + places[i], out[i].ref};
    refs_->put(numbered_, out);
  }

  void do_restart(Epoch epoch) override {
    next_ = 0;
    input().restart(epoch);
  }

  void do_restore(const PlanState& state, Epoch epoch) override {
    PlanNumbers numbers(state, 1);
    next_ = numbers.next();
    restore_place(input(), numbers.input(), epoch);
  }

 private:
  const uint64_t start_;
  std::shared_ptr<NumberedRefs> refs_;
  uint64_t next_ = 0;
  std::vector<NumberedRef> numbered_;
};

class EnumerateNode final : public UnaryNode {
 public:
  EnumerateNode(NodePtr input, int64_t start, const PairOps& pair)
      : UnaryNode(std::move(input), pair.pair), start_(start), pair_(pair) {}
  std::string sequential_operator() const override { return input().sequential_operator(); }
  Cardinality cardinality() const override { return input().cardinality(); }

 protected:
  PlanDescription describe_operator() const override { return {"enumerate", {{"start", start_}}}; }
  Stage build_stage(const StageContext& context) const override {
    Stage stage = input().make_stage(context);
    auto refs = std::make_shared<NumberedRefs>();
    stage.plan =
        std::make_unique<EnumeratePlan>(std::move(stage.plan), static_cast<uint64_t>(start_), refs);
    const bool is_heavy = stage.work->is_heavy();
    stage.work = std::make_shared<Work>(
        pair_.pair, is_heavy, [this, refs = std::move(refs), inputs = std::move(stage.work)] {
          return std::make_unique<EnumerateProducer>(inputs->make_producer(), inputs->element(),
                                                     pair_, *refs);
        });
    return stage;
  }

 private:
  int64_t start_;
  const PairOps& pair_;
};

}  // namespace

NodePtr enumerate(NodePtr input, int64_t start, const PairOps& pair) {
  return std::make_shared<EnumerateNode>(std::move(input), start, pair);
}

}  // namespace recordpipe::internal
