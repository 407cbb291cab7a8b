// take and skip: the first elements, or all but those.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "dataset/pipeline/stage.h"

namespace recordpipe {

template <Element T>
class TakeStage final : public OrderStage<T> {
 public:
  TakeStage(std::unique_ptr<Stage<T>> upstream, uint64_t count)
      : OrderStage<T>(std::move(upstream)), count_(count) {}

  // The input is not asked for more than is taken.
  size_t plan(std::span<Ticket> out, Wait wait) override {
    const auto wanted = static_cast<size_t>(std::min<uint64_t>(out.size(), count_ - taken_));
    if (wanted == 0) return 0;
    const size_t planned = this->upstream().plan(out.first(wanted), wait);
    taken_ += planned;
    return planned;
  }

  void restart(uint64_t epoch) override {
    taken_ = 0;
    this->upstream().restart(epoch);
  }

 private:
  const uint64_t count_;
  uint64_t taken_ = 0;
};

template <Element T>
class SkipStage final : public OrderStage<T> {
 public:
  SkipStage(std::unique_ptr<Stage<T>> upstream, uint64_t count)
      : OrderStage<T>(std::move(upstream)), count_(count) {}

  // What is skipped is never computed.
  size_t plan(std::span<Ticket> out, Wait wait) override {
    while (skipped_ < count_) {
      std::array<Ticket, 256> unwanted;
      const auto n = static_cast<size_t>(std::min<uint64_t>(unwanted.size(), count_ - skipped_));
      const size_t planned = this->upstream().plan(std::span(unwanted).first(n), wait);
      if (planned == 0) return 0;
      this->upstream().discard(std::span(unwanted).first(planned));
      skipped_ += planned;
    }
    return this->upstream().plan(out, wait);
  }

  void restart(uint64_t epoch) override {
    skipped_ = 0;
    this->upstream().restart(epoch);
  }

 private:
  const uint64_t count_;
  uint64_t skipped_ = 0;
};

// A node of either.
template <Element T, template <class> class CountStage>
class CountNode final : public UnaryNode<T> {
 public:
  CountNode(std::shared_ptr<const Node<T>> upstream, uint64_t count)
      : UnaryNode<T>(std::move(upstream)), count_(count) {}
  std::unique_ptr<Stage<T>> make_stage(const StageContext& context) const override {
    return std::make_unique<CountStage<T>>(this->upstream().make_stage(context), count_);
  }

 private:
  uint64_t count_;
};

}  // namespace recordpipe
