// concatenate: yields one input after the other.
//
// All elements of the first input come first, then all elements of the second input, and so on. Has
// random access if all inputs have it. Saved state: the index of the current input, and the
// positions in all inputs.
#include <string>
#include <utility>
#include <vector>

#include "dataset/pipeline/operators/combining/merge.h"
#include "dataset/pipeline/plan/node.h"
#include "recordpipe/base/error.h"
#include "recordpipe/pipeline/internal/operators.h"

namespace recordpipe::internal {
namespace {

class ConcatenatePlan final : public MergePlan {
 public:
  using MergePlan::MergePlan;

  uint64_t size() override {
    sizes_.clear();
    uint64_t all = 0;
    for (size_t i = 0; i < input_count(); ++i) {
      sizes_.push_back(input(i).size());
      if (sizes_.back() > UINT64_MAX - all) {
        throw Error({.kind = ErrorKind::limit_exceeded,
                     .reason = "concatenate: more than " + std::to_string(UINT64_MAX) +
                               " elements, which can't be numbered"});
      }
      all += sizes_.back();
    }
    return all;
  }

  void save(PlanState& state) const override {
    state.reset(input_count()).numbers = {at_};
    save_inputs(state);
  }

 protected:
  Stop do_plan(TicketSink& out, Wait wait) override {
    for (; at_ < input_count(); ++at_) {
      const Planned planned = plan_input(at_, out, SIZE_MAX, wait);
      if (planned.count > 0) return Stop::none;
      if (planned.stop != Stop::end) return planned.stop;
    }
    return Stop::end;
  }

  Stop do_advance(uint64_t count, uint64_t& passed) override {
    for (; at_ < input_count(); ++at_) {
      const Stop stop = advance_all(input(at_), count - passed, passed);
      if (passed == count || stop != Stop::end) return passed == count ? Stop::none : stop;
    }
    return Stop::end;
  }

  void do_tickets_at(std::span<const uint64_t> places, std::span<Ticket> out) override {
    uint64_t first = 0;
    for (size_t i = 0; i < input_count(); first += sizes_[i++]) {
      places_.clear();
      at_places_.clear();
      for (size_t k = 0; k < places.size(); ++k) {
        if (places[k] < first || places[k] - first >= sizes_[i]) continue;
        places_.push_back(places[k] - first);
        at_places_.push_back(k);
      }
      tickets_.resize(places_.size());
      input(i).tickets_at(places_, tickets_);
      label(tickets_, i);
      for (size_t k = 0; k < tickets_.size(); ++k) out[at_places_[k]] = tickets_[k];
    }
  }

  void do_restart(Epoch epoch) override {
    at_ = 0;
    restart_inputs(epoch);
  }

  void do_restore(const PlanState& state, Epoch epoch) override {
    PlanNumbers numbers(state, input_count());
    at_ = numbers.next(input_count());
    restore_inputs(numbers, epoch);
  }

 private:
  size_t at_ = 0;
  // Scratch memory of tickets_at().
  std::vector<uint64_t> sizes_;
  std::vector<uint64_t> places_;
  std::vector<size_t> at_places_;
  std::vector<Ticket> tickets_;
};

class ConcatenateNode final : public MultiNode {
 public:
  explicit ConcatenateNode(std::vector<NodePtr> inputs, const ElementOps& element)
      : MultiNode(std::move(inputs), element) {}
  std::string sequential_operator() const override { return first_sequential_operator(); }
  Cardinality cardinality() const override {
    Cardinality total = 0;
    for (const NodePtr& input : inputs()) total = sum_of_cardinalities(total, input->cardinality());
    return total;
  }

 protected:
  PlanDescription describe_operator() const override { return {"concatenate", {}}; }
  Stage build_stage(const StageContext& context) const override {
    return make_merge_stage<ConcatenatePlan>(make_inputs(context));
  }
};

}  // namespace

NodePtr concatenate(std::vector<NodePtr> inputs) {
  const ElementOps& element = inputs.front()->element();
  return std::make_shared<ConcatenateNode>(std::move(inputs), element);
}

}  // namespace recordpipe::internal
