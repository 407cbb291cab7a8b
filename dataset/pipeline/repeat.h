// repeat: the whole input again and again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "dataset/pipeline/stage.h"

namespace recordpipe {

// Each pass restarts the input with an epoch of its own, so that what is random upstream is drawn
// anew. A pass without any element ends a repetition for ever, which would never yield.
template <Element T>
class RepeatStage final : public OrderStage<T> {
 public:
  RepeatStage(std::unique_ptr<Stage<T>> upstream, int64_t count)
      : OrderStage<T>(std::move(upstream)), count_(count) {}

  size_t plan(std::span<Ticket> out, Wait wait) override {
    if (count_ == 0) return 0;
    while (!stopping_) {
      if (const size_t planned = this->upstream().plan(out, wait)) {
        empty_pass_ = false;
        return planned;
      }
      if (wait == Wait::no) break;  // perhaps not the end
      const bool more = count_ < 0 ? !empty_pass_ : pass_ + 1 < static_cast<uint64_t>(count_);
      if (!more || stopping_) break;
      empty_pass_ = true;
      this->upstream().restart(nested_epoch(epoch_, ++pass_));
    }
    return 0;
  }

  void restart(uint64_t epoch) override {
    stopping_ = false;
    epoch_ = epoch;
    pass_ = 0;
    empty_pass_ = true;
    this->upstream().restart(nested_epoch(epoch_, 0));
  }

  void request_stop() override {
    stopping_ = true;
    OrderStage<T>::request_stop();
  }

 private:
  const int64_t count_;  // -1: for ever
  std::atomic<bool> stopping_ = false;
  uint64_t epoch_ = 0;
  uint64_t pass_ = 0;
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
