// enumerate: each element with its number in the order it comes in.
//
// In the order of the input, numbered from `start`, anew in each epoch where repeat comes after
// it. Elements keep their ids, so random numbers downstream stay those of the element. With random
// access where the input has it: then the number is that of the place. Saved: the next number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "recordpipe/internal/engine/node.h"
#include "recordpipe/internal/engine/stage.h"
#include "recordpipe/internal/engine/value_store.h"

namespace recordpipe {

template <Element T>
using Enumerated = std::pair<int64_t, T>;

// What a ticket of enumerate stands for.
struct NumberedRef {
  uint64_t number = 0;  // the wrapped sum of start and count
  uint64_t ref = 0;     // upstream's
};

template <Element T>
class EnumerateProducer final : public Producer<Enumerated<T>> {
 public:
  EnumerateProducer(std::unique_ptr<Producer<T>> upstream, ValueStore<NumberedRef>& refs)
      : upstream_(std::move(upstream)), refs_(refs) {}

  Failures produce(std::span<const Ticket> tickets, std::span<Enumerated<T>> out) override {
    const size_t count = tickets.size();
    numbered_.resize(count);
    refs_.take(tickets, numbered_);
    inputs_.assign(tickets.begin(), tickets.end());
    for (size_t i = 0; i < count; ++i) inputs_[i].ref = numbered_[i].ref;
    if (values_.size() < count) values_.resize(count);
    Failures failures = upstream_->produce(inputs_, {values_.data(), count});
    for (size_t i = 0; i < count; ++i) {
      out[i].first = static_cast<int64_t>(numbered_[i].number);
      std::swap(out[i].second, values_[i]);
    }
    return failures;
  }

 private:
  std::unique_ptr<Producer<T>> upstream_;
  ValueStore<NumberedRef>& refs_;
  std::vector<NumberedRef> numbered_;
  std::vector<Ticket> inputs_;
  std::vector<T> values_;
};

template <Element T>
class EnumerateStage final : public Stage<Enumerated<T>> {
 public:
  EnumerateStage(std::unique_ptr<Stage<T>> upstream, uint64_t start)
      : upstream_(std::move(upstream)), start_(start) {}

  void charge_to(const std::shared_ptr<MemoryAccount>& account) override {
    refs_.charge_to(account);
  }

  size_t do_plan(std::span<Ticket> out, Wait wait) override {
    const size_t planned = upstream_->plan(out, wait);
    numbered_.resize(planned);
    for (size_t i = 0; i < planned; ++i) numbered_[i] = {start_ + next_++, out[i].ref};
    refs_.put(numbered_, out);
    return planned;
  }

  void do_discard(std::span<const Ticket> tickets) override {
    std::vector<NumberedRef> numbered(tickets.size());
    refs_.take(tickets, numbered);
    std::vector<Ticket> inputs(tickets.begin(), tickets.end());
    for (size_t i = 0; i < inputs.size(); ++i) inputs[i].ref = numbered[i].ref;
    upstream_->discard(inputs);
  }

  void do_restart(uint64_t epoch) override {
    next_ = 0;
    upstream_->restart(epoch);
  }

  uint64_t do_advance(uint64_t count) override {
    const uint64_t passed = upstream_->advance(count);
    next_ += passed;
    return passed;
  }

  uint64_t size() override { return upstream_->size(); }
  void tickets_at(std::span<const uint64_t> places, std::span<Ticket> out) override {
    upstream_->tickets_at(places, out);
    numbered_.resize(places.size());
    for (size_t i = 0; i < places.size(); ++i) numbered_[i] = {start_ + places[i], out[i].ref};
    refs_.put(numbered_, out);
  }

  bool can_save() const override { return upstream_->can_save(); }
  void save(PlanState& state) const override {
    state.reset(1).numbers = {next_};
    upstream_->save(state.inputs[0]);
  }
  void do_restore(const PlanState& state, uint64_t epoch) override {
    PlanNumbers numbers(state, 1);
    next_ = numbers.next();
    restore_place(*upstream_, numbers.input(), epoch);
  }

  void do_request_stop() override { upstream_->request_stop(); }
  std::unique_ptr<Producer<Enumerated<T>>> make_producer() override {
    return std::make_unique<EnumerateProducer<T>>(upstream_->make_producer(), refs_);
  }
  bool has_work() const override { return upstream_->has_work(); }
  size_t chunk_size() const override { return upstream_->chunk_size(); }

 private:
  std::unique_ptr<Stage<T>> upstream_;
  const uint64_t start_;
  uint64_t next_ = 0;
  ValueStore<NumberedRef> refs_;
  std::vector<NumberedRef> numbered_;
};

template <Element T>
class EnumerateNode final : public UnaryNode<Enumerated<T>, T> {
 public:
  EnumerateNode(std::shared_ptr<const Node<T>> upstream, int64_t start)
      : UnaryNode<Enumerated<T>, T>(std::move(upstream)), start_(start) {}
  std::unique_ptr<Stage<Enumerated<T>>> build_stage(const StageContext& context) const override {
    return std::make_unique<EnumerateStage<T>>(this->upstream().make_stage(context),
                                               static_cast<uint64_t>(start_));
  }
  std::string sequential_operator() const override {
    return this->upstream().sequential_operator();
  }
  PlanDescription describe() const override {
    return this->described("enumerate", {{"start", start_}});
  }

 private:
  int64_t start_;
};

}  // namespace recordpipe
