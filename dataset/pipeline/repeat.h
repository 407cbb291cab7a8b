// repeat: the whole input again and again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "dataset/pipeline/stage.h"

namespace recordpipe {

// Each pass restarts the input with the next epoch number, so that what is random upstream is drawn
// anew. A pass without any element ends a repetition that would never yield.
template <Element T>
class RepeatStage final : public OrderStage<T> {
 public:
  RepeatStage(std::unique_ptr<Stage<T>> upstream, int64_t count)
      : OrderStage<T>(std::move(upstream)), count_(count) {}

  size_t plan(std::span<Ticket> out) override {
    if (count_ == 0) return 0;
    while (true) {
      if (const size_t planned = this->upstream().plan(out)) {
        empty_pass_ = false;
        return planned;
      }
      if (empty_pass_ || (count_ > 0 && pass_ + 1 >= count_)) return 0;
      ++pass_;
      empty_pass_ = true;
      this->upstream().restart(++epoch_);
    }
  }

  void restart(uint64_t) override {
    pass_ = 0;
    empty_pass_ = true;
    this->upstream().restart(++epoch_);
  }

 private:
  const int64_t count_;  // -1: for ever
  int64_t pass_ = 0;
  uint64_t epoch_ = 0;  // counts on when this stage is itself restarted
  bool empty_pass_ = true;
};

template <Element T>
class RepeatNode final : public UnaryNode<T> {
 public:
  RepeatNode(std::shared_ptr<const Node<T>> upstream, int64_t count)
      : UnaryNode<T>(std::move(upstream)), count_(count) {}
  std::unique_ptr<Stage<T>> make_stage(const StageContext& context) const override {
    return std::make_unique<RepeatStage<T>>(this->upstream().make_stage(context), count_);
  }

 private:
  int64_t count_;
};

}  // namespace recordpipe
