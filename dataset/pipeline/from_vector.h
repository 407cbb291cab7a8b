// from_vector: the elements of a vector in memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "dataset/pipeline/stage.h"

namespace recordpipe {

template <Element T>
class VectorProducer final : public Producer<T> {
 public:
  explicit VectorProducer(const std::vector<T>& values) : values_(values) {}
  Failures produce(std::span<const Ticket> tickets, std::span<T> out) override {
    for (size_t i = 0; i < tickets.size(); ++i) out[i] = values_[tickets[i].ref];
    return {};
  }

 private:
  const std::vector<T>& values_;
};

template <Element T>
class VectorStage final : public Stage<T> {
 public:
  VectorStage(const std::vector<T>& values, size_t chunk_size)
      : values_(values), chunk_size_(chunk_size) {}
  size_t plan(std::span<Ticket> out, Wait) override {
    const size_t planned = std::min(out.size(), values_.size() - next_);
    for (size_t i = 0; i < planned; ++i, ++next_) out[i] = {{epoch_, next_}, next_};
    return planned;
  }
  void discard(std::span<const Ticket>) override {}
  void restart(uint64_t epoch) override {
    epoch_ = epoch;
    next_ = 0;
  }
  uint64_t advance(uint64_t count) override {
    const uint64_t passed = std::min<uint64_t>(count, values_.size() - next_);
    next_ += static_cast<size_t>(passed);
    return passed;
  }
  void save(PlanState& state) const override { state.reset(0).numbers = {next_}; }
  void restore(const PlanState& state, uint64_t epoch) override {
    epoch_ = epoch;
    next_ = static_cast<size_t>(PlanNumbers(state, 0).next(values_.size()));
  }
  void request_stop() override {}
  std::unique_ptr<Producer<T>> make_producer() override {
    return std::make_unique<VectorProducer<T>>(values_);
  }
  bool has_work() const override { return false; }
  size_t chunk_size() const override { return chunk_size_; }

 private:
  const std::vector<T>& values_;  // the node's
  const size_t chunk_size_;
  uint64_t epoch_ = 0;
  size_t next_ = 0;
};

template <Element T>
class VectorNode final : public Node<T> {
 public:
  explicit VectorNode(std::vector<T> values) : values_(std::move(values)) {}
  std::unique_ptr<Stage<T>> make_stage(const StageContext& context) const override {
    return std::make_unique<VectorStage<T>>(values_, context.chunk_size);
  }
  PlanDescription describe() const override {
    return {.name = "from_vector", .parameters = {{"elements", values_.size()}}};
  }
  uint64_t random_operators() const override { return 0; }

 private:
  std::vector<T> values_;
};

}  // namespace recordpipe
