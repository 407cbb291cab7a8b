// shuffle: a random order from a buffer of bounded size, as tf.data's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "dataset/base/philox.h"
#include "dataset/pipeline/stage.h"

namespace recordpipe {

// The buffer is filled with the first `buffer_size` elements; each output k is a uniformly drawn
// one of them (Random(key, epoch, k).below(n)), whose place the next input takes or, at the end,
// the buffer's last element. The buffer holds tickets (24 bytes each), not values.
template <Element T>
class ShuffleStage final : public OrderStage<T> {
 public:
  ShuffleStage(std::unique_ptr<Stage<T>> upstream, size_t buffer_size, uint64_t key)
      : OrderStage<T>(std::move(upstream)), buffer_size_(buffer_size), key_(key) {}

  size_t plan(std::span<Ticket> out, Wait wait) override {
    size_t planned = 0;
    try {
      while (!input_ended_ && buffer_.size() < buffer_size_) {
        const Ticket* input = next_input(wait);
        if (!input && !input_ended_) return 0;
        if (input) buffer_.push_back(*input);
      }
      for (; planned < out.size() && !buffer_.empty(); ++planned) {
        // Before the draw: an input that can't be had ends the shuffle, the same output at every
        // chunk size.
        const Ticket* input = next_input(planned == 0 ? wait : Wait::no);
        if (!input && !input_ended_) break;
        Random random(key_, epoch_, drawn_++);
        Ticket& drawn = buffer_[random.below(static_cast<uint32_t>(buffer_.size()))];
        out[planned] = drawn;
        if (input) {
          drawn = *input;
        } else {
          drawn = buffer_.back();
          buffer_.pop_back();
        }
      }
    } catch (...) {
      if (planned == 0) throw;  // else thrown again by the next call: inputs fail for good
    }
    return planned;
  }

  void restart(uint64_t epoch) override {
    this->upstream().discard(buffer_);
    this->upstream().discard(std::span(inputs_).subspan(input_at_, input_count_ - input_at_));
    buffer_.clear();
    input_at_ = input_count_ = 0;
    input_ended_ = false;
    drawn_ = 0;
    epoch_ = epoch;
    this->upstream().restart(epoch);
  }

 private:
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
  std::unique_ptr<Stage<T>> make_stage(const StageContext& context) const override {
    const uint64_t key = derive_key(seed_, this->upstream().random_operators());
    return std::make_unique<ShuffleStage<T>>(this->upstream().make_stage(context), buffer_size_,
                                             key);
  }
  uint64_t random_operators() const override { return this->upstream().random_operators() + 1; }

 private:
  size_t buffer_size_;
  uint64_t seed_;
};

}  // namespace recordpipe
