// take and skip: the first elements, or all but those.
//
// In the order of the input; what isn't wanted is not computed. Saved: how many were taken or
// skipped. With random access where the input has it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "recordpipe/internal/engine/node.h"
#include "recordpipe/internal/engine/stage.h"

namespace recordpipe {

template <Element T>
class TakeStage final : public OrderStage<T> {
 public:
  TakeStage(std::unique_ptr<Stage<T>> upstream, uint64_t count)
      : OrderStage<T>(std::move(upstream)), count_(count) {}

  // The input is not asked for more than is taken.
  size_t do_plan(std::span<Ticket> out, Wait wait) override {
    const auto wanted = static_cast<size_t>(std::min<uint64_t>(out.size(), count_ - taken_));
    if (wanted == 0) return 0;
    const size_t planned = this->upstream().plan(out.first(wanted), wait);
    taken_ += planned;
    return planned;
  }

  uint64_t do_advance(uint64_t count) override {
    const uint64_t passed = this->upstream().advance(std::min(count, count_ - taken_));
    taken_ += passed;
    return passed;
  }

  uint64_t size() override { return std::min(count_, this->upstream().size()); }
  void tickets_at(std::span<const uint64_t> places, std::span<Ticket> out) override {
    this->upstream().tickets_at(places, out);
  }

  void do_restart(uint64_t epoch) override {
    taken_ = 0;
    this->upstream().restart(epoch);
  }

  void save(PlanState& state) const override {
    state.reset(1).numbers = {taken_};
    this->upstream().save(state.inputs[0]);
  }

  void do_restore(const PlanState& state, uint64_t epoch) override {
    PlanNumbers numbers(state, 1);
    taken_ = numbers.next(count_);
    restore_place(this->upstream(), numbers.input(), epoch);
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
  size_t do_plan(std::span<Ticket> out, Wait wait) override {
    if (skipped_ < count_ && wait == Wait::no) return 0;  // advance() may wait
    return skip() ? this->upstream().plan(out, wait) : 0;
  }

  uint64_t do_advance(uint64_t count) override {
    return skip() ? this->upstream().advance(count) : 0;
  }

  uint64_t size() override {
    const uint64_t all = this->upstream().size();
    return all - std::min(count_, all);
  }
  void tickets_at(std::span<const uint64_t> places, std::span<Ticket> out) override {
    places_.assign(places.begin(), places.end());
    for (uint64_t& place : places_) place += count_;
    this->upstream().tickets_at(places_, out);
  }

  void do_restart(uint64_t epoch) override {
    skipped_ = 0;
    this->upstream().restart(epoch);
  }

  void save(PlanState& state) const override {
    state.reset(1).numbers = {skipped_};
    this->upstream().save(state.inputs[0]);
  }

  void do_restore(const PlanState& state, uint64_t epoch) override {
    PlanNumbers numbers(state, 1);
    skipped_ = numbers.next(count_);
    restore_place(this->upstream(), numbers.input(), epoch);
  }

 private:
  // False if the input has no more than these.
  bool skip() {
    skipped_ += pass_over(this->upstream(), count_ - skipped_);
    return skipped_ == count_;
  }

  const uint64_t count_;
  uint64_t skipped_ = 0;
  std::vector<uint64_t> places_;  // tickets_at's
};

// A node of either.
template <Element T, template <class> class CountStage>
class CountNode final : public UnaryNode<T> {
 public:
  CountNode(std::shared_ptr<const Node<T>> upstream, const char* name, uint64_t count)
      : UnaryNode<T>(std::move(upstream)), name_(name), count_(count) {}
  std::unique_ptr<Stage<T>> build_stage(const StageContext& context) const override {
    return std::make_unique<CountStage<T>>(this->upstream().make_stage(context), count_);
  }

  std::string sequential_operator() const override {
    return this->upstream().sequential_operator();
  }
  PlanDescription describe() const override { return this->described(name_, {{"count", count_}}); }

 private:
  const char* name_;
  uint64_t count_;
};

}  // namespace recordpipe
