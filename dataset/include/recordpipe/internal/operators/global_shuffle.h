// global_shuffle: a random order of all elements, in memory that doesn't grow with them.
//
// tf.data's is experimental; this one is a permutation of the places (permutation.h), another one
// in each epoch, whose elements are fetched from their places: uniform over the whole input, with
// no buffer to fill. The input must have random access: sources in memory, plain TFRecord files,
// and map, enumerate, take, skip, shard, concatenate and zip of these. Saved: one number; passing
// over elements takes no time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "recordpipe/error.h"
#include "recordpipe/internal/engine/node.h"
#include "recordpipe/internal/engine/stage.h"
#include "recordpipe/internal/permutation.h"
#include "recordpipe/philox.h"

namespace recordpipe {

template <Element T>
class GlobalShuffleStage final : public OrderStage<T> {
 public:
  GlobalShuffleStage(std::unique_ptr<Stage<T>> upstream, uint64_t key)
      : OrderStage<T>(std::move(upstream)), key_(key) {}

  size_t do_plan(std::span<Ticket> out, Wait) override {
    const Permutation& order = permutation();
    const auto planned = static_cast<size_t>(std::min<uint64_t>(out.size(), order.size() - next_));
    if (planned == 0) return 0;
    places_.resize(planned);
    for (size_t i = 0; i < planned; ++i) places_[i] = order(next_ + i);
    this->upstream().tickets_at(places_, out.first(planned));
    next_ += planned;
    return planned;
  }

  uint64_t do_advance(uint64_t count) override {
    const uint64_t passed = std::min(count, permutation().size() - next_);
    next_ += passed;
    return passed;
  }

  void do_restart(uint64_t epoch) override {
    epoch_ = epoch;
    next_ = 0;
    permutation_.reset();
    this->upstream().restart(epoch);
  }

  // The input stands at its start, always.
  bool can_save() const override { return true; }
  void save(PlanState& state) const override { state.reset(0).numbers = {next_}; }
  void do_restore(const PlanState& state, uint64_t epoch) override {
    PlanNumbers numbers(state, 0);
    do_restart(epoch);
    next_ = numbers.next();
    if (next_ > 0 && next_ > permutation().size()) fail_state();
  }

 private:
  // Not before an element is wanted: to know the input's size, files are opened.
  const Permutation& permutation() {
    if (!permutation_) permutation_.emplace(this->upstream().size(), derive_key(key_, epoch_));
    return *permutation_;
  }

  const uint64_t key_;
  uint64_t epoch_ = 0;
  uint64_t next_ = 0;
  std::optional<Permutation> permutation_;
  std::vector<uint64_t> places_;
};

template <Element T>
class GlobalShuffleNode final : public UnaryNode<T> {
 public:
  GlobalShuffleNode(std::shared_ptr<const Node<T>> upstream, uint64_t seed)
      : UnaryNode<T>(std::move(upstream)), seed_(seed) {
    const std::string sequential = this->upstream().sequential_operator();
    if (sequential.empty()) return;
    throw Error(
        {.kind = ErrorKind::invalid_argument,
         .reason = "global_shuffle: the elements of " + sequential + " can't be had in any order",
         .hint = "put global_shuffle before " + sequential +
                 ", or use shuffle, which needs no random access"});
  }
  std::unique_ptr<Stage<T>> build_stage(const StageContext& context) const override {
    const uint64_t key = derive_key(seed_, this->upstream().random_operators());
    return std::make_unique<GlobalShuffleStage<T>>(this->upstream().make_stage(context), key);
  }
  uint64_t random_operators() const override { return this->upstream().random_operators() + 1; }
  PlanDescription describe() const override {
    return this->described("global_shuffle", {{"seed", seed_}});
  }

 private:
  uint64_t seed_;
};

}  // namespace recordpipe
