// shuffle: a random order, drawn from a buffer of bounded size, like tf.data's shuffle.
//
// The order is uniform over all permutations if the buffer holds the whole input; with a smaller
// buffer, an element moves forward by less than the buffer size. Each epoch has its own order.
// Elements keep their ids. No random access. Saved state: the number of the next draw, the input's
// position, and 8 bytes for each element in the buffer: the element's position in the input.
#include <algorithm>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "dataset/base/require.h"
#include "dataset/pipeline/operators/order/plan_places.h"
#include "dataset/pipeline/plan/node.h"
#include "recordpipe/base/philox.h"
#include "recordpipe/pipeline/internal/operators.h"

namespace recordpipe::internal {
namespace {

// The buffer is filled with the first `buffer_size` elements. Output k is drawn uniformly from the
// buffer (Random(key, epoch, k).below(n)); its slot takes the next input element or, at the end,
// the buffer's last element. The buffer holds tickets (24 bytes each), not values, and the position
// of each element in the input (8 bytes); these positions are saved.
class ShufflePlan final : public OrderPlan {
 public:
  ShufflePlan(std::unique_ptr<Plan> input, size_t buffer_size, uint64_t key)
      : OrderPlan(std::move(input)), buffer_size_(buffer_size), key_(key) {}

  bool can_save() const override { return true; }

  void save(PlanState& state) const override {
    state.reset(0).numbers = {drawn_, taken_, input_ended_};
    state.numbers.insert(state.numbers.end(), places_.begin(), places_.end());
  }

 protected:
  void charge_to(const std::shared_ptr<MemoryAccount>& account) override { charge_.open(account); }

  Stop do_plan(TicketSink& out, Wait wait) override {
    while (!input_ended_ && buffer_.size() < buffer_size_) {
      const Ticket* const next = next_input(wait);
      if (!next && !input_ended_) return missing_;
      if (!next) break;
      buffer_.push_back(*next);
      places_.push_back(taken_++);
      if (taken_ % kInputs == 0) charge();
    }
    charge();
    while (!out.is_full() && !buffer_.empty()) {
      // Planned before the draw, so that if an input can't be planned, the shuffle ends at the same
      // output with every chunk size.
      const Ticket* const next = next_input(out.count() == 0 ? wait : Wait::no);
      if (!next && !input_ended_) return missing_;
      Random random(key_, epoch_, drawn_++);
      const uint32_t drawn = random.below(static_cast<uint32_t>(buffer_.size()));
      out.push(buffer_[drawn]);
      if (next) {
        buffer_[drawn] = *next;
        places_[drawn] = taken_++;
      } else {
        buffer_[drawn] = buffer_.back();
        places_[drawn] = places_.back();
        buffer_.pop_back();
        places_.pop_back();
      }
    }
    return buffer_.empty() ? Stop::end : Stop::none;
  }

  void do_restart(Epoch epoch) override {
    forget(epoch);
    input().restart(epoch);
  }

  void do_restore(const PlanState& state, Epoch epoch) override {
    PlanNumbers numbers(state, 0);
    do_restart(epoch);
    drawn_ = numbers.next();
    const uint64_t taken = numbers.next();
    const bool input_ended = numbers.next_bool();
    const std::span<const uint64_t> places = numbers.rest();
    // What was taken was drawn, or is in the buffer.
    if (drawn_ > taken || places.size() != taken - drawn_ || places.size() > buffer_size_) {
      fail_state();
    }
    places_.assign(places.begin(), places.end());
    refill(taken);
    pass_over(input(), taken - taken_);
    taken_ = taken;
    input_ended_ = input_ended;
  }

 private:
  void forget(Epoch epoch) {
    input().discard(buffer_);
    input().discard(std::span(inputs_).subspan(input_at_, input_count_ - input_at_));
    buffer_.clear();
    places_.clear();
    input_at_ = input_count_ = 0;
    input_ended_ = false;
    drawn_ = taken_ = 0;
    epoch_ = epoch.order;
  }

  // Plans the tickets for places_, all below `taken`, again, in the order of the input.
  void refill(uint64_t taken) {
    std::vector<size_t> order(places_.size());  // indexes in places_
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::sort(order, {}, [&](size_t i) { return places_[i]; });
    std::vector<uint64_t> sorted(places_);
    std::ranges::sort(sorted);
    if (!sorted.empty() && sorted.back() >= taken) fail_state();
    buffer_.reserve(sorted.size());
    charge();
    plan_places(input(), sorted, taken_, buffer_);
    // Reordered only now: after an exception, restart() discards the tickets in the buffer.
    std::vector<Ticket> in_place(buffer_.size());
    for (size_t i = 0; i < order.size(); ++i) in_place[order[i]] = buffer_[i];
    buffer_ = std::move(in_place);
  }

  void charge() {
    charge_.set(buffer_.capacity() * sizeof(Ticket) + places_.capacity() * sizeof(uint64_t));
    charge_.check();
  }

  // Returns the next ticket of the input; tickets are planned in blocks. Null at the end, or if
  // there is none for the reason in missing_.
  const Ticket* next_input(Wait wait) {
    if (input_at_ == input_count_ && !input_ended_) {
      inputs_.resize(kInputs);
      input_at_ = input_count_ = 0;
      const Planned planned = input().plan(inputs_, wait);
      input_count_ = planned.count;
      missing_ = planned.stop;
      input_ended_ = input_count_ == 0 && planned.stop == Stop::end;
    }
    return input_at_ == input_count_ ? nullptr : &inputs_[input_at_++];
  }

  static constexpr size_t kInputs = 256;

  const size_t buffer_size_;
  const uint64_t key_;
  uint64_t epoch_ = 0;
  uint64_t drawn_ = 0;
  std::vector<Ticket> buffer_;
  std::vector<uint64_t> places_;  // positions in the input of the tickets in buffer_
  MemoryCharge charge_;
  uint64_t taken_ = 0;  // number of input elements that went into the buffer
  std::vector<Ticket> inputs_;
  size_t input_at_ = 0;
  size_t input_count_ = 0;
  bool input_ended_ = false;
  Stop missing_ = Stop::none;
};

class ShuffleNode final : public UnaryNode {
 public:
  ShuffleNode(NodePtr input, size_t buffer_size, uint64_t seed)
      : UnaryNode(std::move(input)), buffer_size_(buffer_size), seed_(seed) {}
  uint64_t random_operators() const override { return input().random_operators() + 1; }
  Cardinality cardinality() const override { return input().cardinality(); }

 protected:
  PlanDescription describe_operator() const override {
    return {"shuffle", {{"buffer_size", buffer_size_}, {"seed", seed_}}};
  }
  void describe_with_inputs(PlanDescription& plan) const override { plan.bind_shards(); }
  Stage build_stage(const StageContext& context) const override {
    return reordered<ShufflePlan>(context, buffer_size_, order_key(seed_));
  }

 private:
  size_t buffer_size_;
  uint64_t seed_;
};

}  // namespace

NodePtr shuffle(NodePtr input, size_t buffer_size, uint64_t seed) {
  require(buffer_size > 0 && buffer_size <= UINT32_MAX, "shuffle: buffer_size must be 1 to 2^32-1");
  return std::make_shared<ShuffleNode>(std::move(input), buffer_size, seed);
}

}  // namespace recordpipe::internal
