// shuffle: a random order from a buffer of bounded size, as tf.data's.
//
// No default for the buffer's size or the seed. Uniform over all orders where the buffer holds the
// whole input; with a smaller one an element comes less than that many places early. Each epoch has
// an order of its own. Elements keep their ids. No random access. Saved: which draw is next, and 8
// bytes for each element in the buffer: its place in the input.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "recordpipe/internal/engine/memory_account.h"
#include "recordpipe/internal/engine/node.h"
#include "recordpipe/internal/engine/stage.h"
#include "recordpipe/philox.h"

namespace recordpipe {

// The buffer is filled with the first `buffer_size` elements; each output k is a uniformly drawn
// one of them (Random(key, epoch, k).below(n)), whose place the next input takes or, at the end,
// the buffer's last element. The buffer holds tickets (24 bytes each), not values, and the place of
// each in the input (8 bytes): those are what is saved of it.
template <Element T>
class ShuffleStage final : public OrderStage<T> {
 public:
  ShuffleStage(std::unique_ptr<Stage<T>> upstream, size_t buffer_size, uint64_t key)
      : OrderStage<T>(std::move(upstream)), buffer_size_(buffer_size), key_(key) {}

  void charge_to(const std::shared_ptr<MemoryAccount>& account) override { charge_.open(account); }

  size_t do_plan(std::span<Ticket> out, Wait wait) override {
    size_t planned = 0;
    try {
      while (!input_ended_ && buffer_.size() < buffer_size_) {
        const Ticket* input = next_input(wait);
        if (!input && !input_ended_) return 0;
        if (!input) break;
        buffer_.push_back(*input);
        places_.push_back(taken_++);
        if (taken_ % kInputs == 0) charge();
      }
      charge();
      for (; planned < out.size() && !buffer_.empty(); ++planned) {
        // Before the draw: an input that can't be had ends the shuffle, the same output at every
        // chunk size.
        const Ticket* input = next_input(planned == 0 ? wait : Wait::no);
        if (!input && !input_ended_) break;
        Random random(key_, epoch_, drawn_++);
        const uint32_t drawn = random.below(static_cast<uint32_t>(buffer_.size()));
        out[planned] = buffer_[drawn];
        if (input) {
          buffer_[drawn] = *input;
          places_[drawn] = taken_++;
        } else {
          buffer_[drawn] = buffer_.back();
          places_[drawn] = places_.back();
          buffer_.pop_back();
          places_.pop_back();
        }
      }
    } catch (...) {
      if (planned == 0) throw;  // else thrown again by the next call: inputs fail for good
    }
    return planned;
  }

  void do_restart(uint64_t epoch) override {
    this->upstream().discard(buffer_);
    this->upstream().discard(std::span(inputs_).subspan(input_at_, input_count_ - input_at_));
    buffer_.clear();
    places_.clear();
    input_at_ = input_count_ = 0;
    input_ended_ = false;
    drawn_ = taken_ = 0;
    epoch_ = epoch;
    this->upstream().restart(epoch);
  }

  bool can_save() const override { return true; }

  void save(PlanState& state) const override {
    state.reset(0).numbers = {drawn_, taken_, input_ended_};
    state.numbers.insert(state.numbers.end(), places_.begin(), places_.end());
  }

  void do_restore(const PlanState& state, uint64_t epoch) override {
    PlanNumbers numbers(state, 0);
    do_restart(epoch);
    drawn_ = numbers.next();
    const uint64_t taken = numbers.next();
    const bool input_ended = numbers.next_bool();
    if (numbers.rest().size() > std::min(buffer_size_, taken)) fail_state();
    places_.assign(numbers.rest().begin(), numbers.rest().end());
    refill();
    if (taken < taken_) fail_state();
    go_to(taken);
    input_ended_ = input_ended;
  }

 private:
  // Fetches the tickets for places_ again, in the order of the input.
  void refill() {
    std::vector<size_t> order(places_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::sort(order, {}, [this](size_t at) { return places_[at]; });
    buffer_.reserve(places_.size());
    charge();
    inputs_.resize(kInputs);
    for (size_t first = 0; first < order.size();) {
      size_t count = 1;  // of places in a row
      while (count < kInputs && first + count < order.size() &&
             places_[order[first + count]] == places_[order[first]] + count) {
        ++count;
      }
      if (places_[order[first]] < taken_) fail_state();  // twice
      go_to(places_[order[first]]);
      for (const size_t end = first + count; first < end;) {
        const size_t planned =
            this->upstream().plan(std::span(inputs_).first(end - first), Wait::yes);
        if (planned == 0) fail_state();
        buffer_.insert(buffer_.end(), inputs_.begin(),
                       inputs_.begin() + static_cast<std::ptrdiff_t>(planned));
        first += planned;
        taken_ += planned;
      }
    }
    // Only now: after an exception, restart() discards the tickets in the buffer.
    std::vector<Ticket> in_place(buffer_.size());
    for (size_t i = 0; i < order.size(); ++i) in_place[order[i]] = buffer_[i];
    buffer_ = std::move(in_place);
  }

  // Advances the input to `place`.
  void go_to(uint64_t place) {
    if (pass_over(this->upstream(), place - taken_) < place - taken_) fail_state();
    taken_ = place;
  }

  void charge() {
    charge_.set(buffer_.capacity() * sizeof(Ticket) + places_.capacity() * sizeof(uint64_t));
    charge_.check();
  }

  // The next of the upstream's tickets, fetched some at a time; null at the end, or where it would
  // have to wait.
  const Ticket* next_input(Wait wait) {
    if (input_at_ == input_count_ && !input_ended_) {
      inputs_.resize(kInputs);
      input_at_ = input_count_ = 0;
      input_count_ = this->upstream().plan(inputs_, wait);
      input_ended_ = input_count_ == 0 && wait == Wait::yes;
    }
    return input_at_ == input_count_ ? nullptr : &inputs_[input_at_++];
  }

  static constexpr size_t kInputs = 256;

  const size_t buffer_size_;
  const uint64_t key_;
  uint64_t epoch_ = 0;
  uint64_t drawn_ = 0;
  std::vector<Ticket> buffer_;
  std::vector<uint64_t> places_;  // in the input, of the tickets in buffer_
  MemoryCharge charge_;
  uint64_t taken_ = 0;  // inputs that went into the buffer
  std::vector<Ticket> inputs_;
  size_t input_at_ = 0;
  size_t input_count_ = 0;
  bool input_ended_ = false;
};

template <Element T>
class ShuffleNode final : public UnaryNode<T> {
 public:
  ShuffleNode(std::shared_ptr<const Node<T>> upstream, size_t buffer_size, uint64_t seed)
      : UnaryNode<T>(std::move(upstream)), buffer_size_(buffer_size), seed_(seed) {}
  std::unique_ptr<Stage<T>> build_stage(const StageContext& context) const override {
    const uint64_t key = derive_key(seed_, this->upstream().random_operators());
    return std::make_unique<ShuffleStage<T>>(this->upstream().make_stage(context), buffer_size_,
                                             key);
  }
  uint64_t random_operators() const override { return this->upstream().random_operators() + 1; }
  PlanDescription describe() const override {
    return this->described("shuffle", {{"buffer_size", buffer_size_}, {"seed", seed_}});
  }

 private:
  size_t buffer_size_;
  uint64_t seed_;
};

}  // namespace recordpipe
