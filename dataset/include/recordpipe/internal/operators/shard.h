// shard: the elements of one worker out of several.
//
// Of each num_shards elements in a row (a group) it keeps the one at `index`; the shards of all
// workers are disjoint, and all of the input together. Where the input ends within a group, the
// first shards get an element more than the others, as in tf.data, or with DropRemainder::yes none
// does: then all workers have as many elements, and with batch(n, DropRemainder::yes) as many
// batches, for any number of workers. Elements keep their ids: what is drawn for one does not
// depend on the number of workers. With random access where the input has it.
//
// Saved: the place in the input, which always is one between two groups, and so the same for all
// workers. Directly before batch (maps may be between) num_shards and index are no part of the
// plan, and the batch size that is compared is that of all workers together: what one of 4 workers
// with batches of 32 has saved after its batch K, each of 2 workers with batches of 64 can restore,
// and goes on with the same global batch: row r of worker w is element r * workers + w of it.
// So put shard last: source, shuffle, repeat, shard, map, batch; and where there is one worker
// now, shard(1, 0). Elsewhere num_shards and index are part of the plan.
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
class ShardStage final : public OrderStage<T> {
 public:
  ShardStage(std::unique_ptr<Stage<T>> upstream, size_t num_shards, size_t index,
             bool drop_remainder)
      : OrderStage<T>(std::move(upstream)),
        num_shards_(num_shards),
        index_(index),
        drop_remainder_(drop_remainder) {}

  size_t do_plan(std::span<Ticket> out, Wait wait) override {
    size_t planned = 0;
    while (planned == 0) {
      bool more = false;
      try {
        more = gather(out.size(), wait);
      } catch (...) {
        // What is before the error comes before it; then it is thrown again.
        planned = keep_last(out);
        if (planned == 0) throw;
        break;
      }
      if (!more) return wait == Wait::yes ? keep_last(out) : 0;
      planned = keep_own(out);
    }
    return planned;
  }

  uint64_t do_advance(uint64_t count) override {
    // A place further on than this is past every end.
    const uint64_t wanted = std::min(count, UINT64_MAX / num_shards_) * num_shards_;
    uint64_t passed = members_.size();  // of the input; below num_shards_, and so below wanted
    this->upstream().discard(members_);
    members_.clear();
    try {
      passed += this->upstream().advance(wanted - passed);
    } catch (...) {
      // As in plan(), the elements before an error count, also in an incomplete group.
      if (own(passed) == 0) throw;
    }
    // If none of them belongs to this shard, advance() tells the end from an error.
    return own(passed) > 0 ? own(passed) : this->upstream().advance(1);
  }

  uint64_t size() override { return own(this->upstream().size()); }
  void tickets_at(std::span<const uint64_t> places, std::span<Ticket> out) override {
    places_.assign(places.begin(), places.end());
    for (uint64_t& place : places_) place = place * num_shards_ + index_;
    this->upstream().tickets_at(places_, out);
  }

  void do_restart(uint64_t epoch) override {
    this->upstream().discard(members_);
    members_.clear();
    this->upstream().restart(epoch);
  }

  // Not in the middle of a group.
  bool can_save() const override { return members_.empty() && OrderStage<T>::can_save(); }
  // The input's place by itself: what is passed over in it is not counted as here.
  void save(PlanState& state) const override { this->upstream().save(state.reset(1).inputs[0]); }
  void do_restore(const PlanState& state, uint64_t epoch) override {
    PlanNumbers numbers(state, 1);
    this->upstream().discard(members_);
    members_.clear();
    restore_place(this->upstream(), numbers.input(), epoch);
  }

 private:
  // How many of the input's first `count` elements, all there are, belong to this shard.
  uint64_t own(uint64_t count) const {
    return count / num_shards_ + (!drop_remainder_ && count % num_shards_ > index_ ? 1 : 0);
  }

  // Adds to members_, up to the ends of `groups` of them; false where nothing came.
  bool gather(size_t groups, Wait wait) {
    const size_t gathered = members_.size();
    const size_t at_once = std::max<size_t>(1, std::min(groups, kStep / num_shards_));
    members_.resize(at_once * num_shards_);
    size_t planned = 0;
    try {
      planned = this->upstream().plan(std::span(members_).subspan(gathered), wait);
    } catch (...) {
      members_.resize(gathered);
      throw;
    }
    members_.resize(gathered + planned);
    return planned > 0;
  }

  // Of each group that is complete, this shard's ticket goes to `out`.
  size_t keep_own(std::span<Ticket> out) {
    const size_t groups = members_.size() / num_shards_;
    unwanted_.clear();
    for (size_t i = 0; i < groups * num_shards_; ++i) {
      if (i % num_shards_ == index_) {
        out[i / num_shards_] = members_[i];
      } else {
        unwanted_.push_back(members_[i]);
      }
    }
    this->upstream().discard(unwanted_);
    members_.erase(members_.begin(),
                   members_.begin() + static_cast<std::ptrdiff_t>(groups * num_shards_));
    return groups;
  }

  // The same for a group that nothing will be added to.
  size_t keep_last(std::span<Ticket> out) {
    const bool keep = own(members_.size()) > 0;
    if (keep) {
      out[0] = members_[index_];
      members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(index_));
    }
    this->upstream().discard(members_);
    members_.clear();
    return keep ? 1 : 0;
  }

  static constexpr size_t kStep = 4096;

  const size_t num_shards_;
  const size_t index_;
  const bool drop_remainder_;
  std::vector<Ticket> members_;  // of groups; between calls, of an incomplete one
  std::vector<Ticket> unwanted_;
  std::vector<uint64_t> places_;  // tickets_at's
};

template <Element T>
class ShardNode final : public UnaryNode<T> {
 public:
  static constexpr size_t kMaxShards = size_t{1} << 16;

  ShardNode(std::shared_ptr<const Node<T>> upstream, size_t num_shards, size_t index,
            bool drop_remainder)
      : UnaryNode<T>(std::move(upstream)),
        num_shards_(num_shards),
        index_(index),
        drop_remainder_(drop_remainder) {}
  std::unique_ptr<Stage<T>> build_stage(const StageContext& context) const override {
    return std::make_unique<ShardStage<T>>(this->upstream().make_stage(context), num_shards_,
                                           index_, drop_remainder_);
  }
  std::string sequential_operator() const override {
    return this->upstream().sequential_operator();
  }
  PlanDescription describe() const override {
    PlanDescription plan = this->described(
        "shard",
        {{"num_shards", num_shards_}, {"index", index_}, {"drop_remainder", drop_remainder_}});
    plan.num_shards = num_shards_;
    return plan;
  }

 private:
  size_t num_shards_;
  size_t index_;
  bool drop_remainder_;
};

}  // namespace recordpipe
