// shuffle: a random order, drawn from a buffer of bounded size, like tf.data's shuffle.
//
// The order is uniform over all permutations if the buffer holds the whole input; with a smaller
// buffer, an element moves forward by less than the buffer size. Each epoch has its own order.
// Elements keep their ids. No random access. Saved state: the number of the next draw, the input's
// position, and 8 bytes for each element in the buffer: the element's position in the input.
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "dataset/pipeline/engine/node.h"
#include "recordpipe/error.h"
#include "recordpipe/internal/operators.h"
#include "recordpipe/philox.h"

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

  void do_restart(uint64_t epoch) override {
    forget(epoch);
    input().restart(epoch);
  }

  void do_restore(const PlanState& state, uint64_t epoch) override {
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
    pass_over(taken - taken_);
    input_ended_ = input_ended;
  }

 private:
  void forget(uint64_t epoch) {
    input().discard(buffer_);
    input().discard(std::span(inputs_).subspan(input_at_, input_count_ - input_at_));
    buffer_.clear();
    places_.clear();
    input_at_ = input_count_ = 0;
    input_ended_ = false;
    drawn_ = taken_ = 0;
    epoch_ = epoch;
  }

  void pass_over(uint64_t count) {
    uint64_t passed = 0;
    advance_all(input(), count, passed);
    if (passed < count) fail_state();
    taken_ += count;
  }

  // Plans the tickets for places_, all below `taken`, again, in the order of the input.
  void refill(uint64_t taken) {
    struct Slot {
      uint64_t place;
      size_t index;  // in places_
    };
    std::vector<Slot> slots(places_.size());
    for (size_t i = 0; i < slots.size(); ++i) slots[i] = {places_[i], i};
    std::ranges::sort(slots, {}, &Slot::place);
    const bool twice = std::ranges::adjacent_find(slots, {}, &Slot::place) != slots.end();
    if (twice || (!slots.empty() && slots.back().place >= taken)) fail_state();
    buffer_.reserve(slots.size());
    charge();
    inputs_.resize(kInputs);
    for (size_t next = 0; next < slots.size();) {
      // A run of places with short gaps.
      const size_t begin = next;
      size_t end = begin + 1;
      while (end < slots.size() && slots[end].place - slots[end - 1].place <= kShortGap + 1 &&
             slots[end].place - slots[begin].place < kInputs) {
        ++end;
      }
      pass_over(slots[begin].place - taken_);
      for (const uint64_t last = slots[end - 1].place; taken_ <= last;) {
        const Planned planned =
            input().plan(std::span(inputs_).first(last + 1 - taken_), Wait::yes);
        size_t unwanted = 0;
        for (size_t i = 0; i < planned.count; ++i, ++taken_) {
          if (slots[next].place == taken_) {
            buffer_.push_back(inputs_[i]);
            ++next;
          } else {
            inputs_[unwanted++] = inputs_[i];
          }
        }
        input().discard(std::span(inputs_).first(unwanted));
        if (planned.stop != Stop::none && taken_ <= last) fail_state();
      }
    }
    // Reordered only now: after an exception, restart() discards the tickets in the buffer.
    std::vector<Ticket> in_place(buffer_.size());
    for (size_t i = 0; i < slots.size(); ++i) in_place[slots[i].index] = buffer_[i];
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
  // refill() plans and discards up to this number of unwanted tickets rather than ask for the next
  // wanted one separately.
  static constexpr uint64_t kShortGap = 32;

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
  Stage build_stage(const StageContext& context) const override {
    const uint64_t key = derive_key(seed_, input().random_operators());
    return reordered<ShufflePlan>(context, buffer_size_, key);
  }

 private:
  size_t buffer_size_;
  uint64_t seed_;
};

}  // namespace

NodePtr shuffle(NodePtr input, size_t buffer_size, uint64_t seed) {
  if (buffer_size == 0 || buffer_size > UINT32_MAX) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "shuffle: buffer_size must be 1 to 2^32-1"});
  }
  return std::make_shared<ShuffleNode>(std::move(input), buffer_size, seed);
}

}  // namespace recordpipe::internal
