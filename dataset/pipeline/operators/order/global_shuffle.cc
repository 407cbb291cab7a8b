// global_shuffle: a random order of all elements; the memory doesn't grow with their number.
//
// In tf.data, global_shuffle is experimental. This operator permutes the elements' indexes
// (permutation.h), differently in each epoch, and accesses the elements in this order: uniform over
// the whole input, without a buffer to fill. The input must have random access. Saved state: the
// number of elements returned; skipping elements takes no time.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dataset/pipeline/plan/node.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/permutation.h"
#include "recordpipe/base/philox.h"
#include "recordpipe/pipeline/internal/operators.h"

namespace recordpipe::internal {
namespace {

class GlobalShufflePlan final : public OrderPlan {
 public:
  GlobalShufflePlan(std::unique_ptr<Plan> input, uint64_t key)
      : OrderPlan(std::move(input)), key_(key) {}

  // The input always stays at its start.
  bool can_save() const override { return true; }
  void save(PlanState& state) const override { state.reset(0).numbers = {next_}; }

 protected:
  Stop do_plan(TicketSink& out, Wait) override {
    const Permutation& order = permutation();
    const auto planned =
        static_cast<size_t>(std::min<uint64_t>(out.room().size(), order.size() - next_));
    if (planned == 0) return Stop::end;
    places_.resize(planned);
    for (size_t i = 0; i < planned; ++i) places_[i] = order(next_ + i);
    input().tickets_at(places_, out.room().first(planned));
    out.take(planned);
    next_ += planned;
    return Stop::none;
  }

  Stop do_advance(uint64_t count, uint64_t& passed) override {
    passed = std::min(count, permutation().size() - next_);
    next_ += passed;
    return passed < count ? Stop::end : Stop::none;
  }

  void do_restart(Epoch epoch) override {
    epoch_ = epoch.order;
    next_ = 0;
    permutation_.reset();
    input().restart(epoch);
  }

  void do_restore(const PlanState& state, Epoch epoch) override {
    PlanNumbers numbers(state, 0);
    do_restart(epoch);
    next_ = numbers.next();
    if (next_ > 0 && next_ > permutation().size()) fail_state();
  }

 private:
  // Computed at the first element: the input's size is known only after files have been opened.
  const Permutation& permutation() {
    if (!permutation_) permutation_.emplace(input().size(), derive_key(key_, epoch_));
    return *permutation_;
  }

  const uint64_t key_;
  uint64_t epoch_ = 0;
  uint64_t next_ = 0;
  std::optional<Permutation> permutation_;
  std::vector<uint64_t> places_;
};

class GlobalShuffleNode final : public UnaryNode {
 public:
  GlobalShuffleNode(NodePtr input, uint64_t seed) : UnaryNode(std::move(input)), seed_(seed) {}
  uint64_t random_operators() const override { return input().random_operators() + 1; }
  // In Python, both shuffles have this name.
  std::string sequential_operator() const override { return "shuffle"; }
  Cardinality cardinality() const override { return input().cardinality(); }

 protected:
  PlanDescription describe_operator() const override {
    return {"global_shuffle", {{"seed", seed_}}};
  }
  void describe_with_inputs(PlanDescription& plan) const override { plan.bind_shards(); }
  Stage build_stage(const StageContext& context) const override {
    return reordered<GlobalShufflePlan>(context, order_key(seed_));
  }

 private:
  uint64_t seed_;
};

}  // namespace

NodePtr global_shuffle(NodePtr input, uint64_t seed) {
  const std::string sequential = input->sequential_operator();
  if (!sequential.empty()) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "the elements of " + sequential + " can't be had in any order",
                 .hint = (sequential == "shuffle" ? "shuffle once"
                                                  : "put the global shuffle before " + sequential) +
                         ", or shuffle with a buffer, which needs no random access"});
  }
  return std::make_shared<GlobalShuffleNode>(std::move(input), seed);
}

}  // namespace recordpipe::internal
