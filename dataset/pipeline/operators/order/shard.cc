// shard: yields the elements of one of several workers (Dataset::shard documents the guarantees).
//
// An input of interleave that ends with an error is an error of all workers (lost_sources.h).
//
// Saved state: the position in the input, always between two groups, so the same for all workers.
// Directly before batch (with only maps in between), num_shards and index are not part of the plan,
// and the compared batch size is that of all workers together. A state saved by one of 4 workers
// (batch size 32) can therefore be restored by each of 2 workers (batch size 64) and continues with
// the same global batch: row r of worker w is element r * workers + w of the global batch. A
// shuffle of these batches makes them part of the plan, unless all workers have the same number of
// batches.
//
// A shard that comes last (only maps and prefetch after it) is not part of the plan either, unless
// it drops the remainder: the saved state is that of its input (execute/iterator.cc). Workers that
// divide whole batches can therefore go on with any number of workers, or without shard. Elsewhere,
// num_shards and index are part of the plan.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "dataset/base/require.h"
#include "dataset/pipeline/plan/lost_sources.h"
#include "dataset/pipeline/plan/node.h"
#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/pipeline/internal/operators.h"

namespace recordpipe::internal {
namespace {

class ShardPlan final : public OrderPlan {
 public:
  ShardPlan(std::unique_ptr<Plan> input, size_t num_shards, size_t index, bool drop_remainder,
            const LostSources& lost)
      : OrderPlan(std::move(input)),
        num_shards_(num_shards),
        index_(index),
        drop_remainder_(drop_remainder),
        lost_(lost) {}

  uint64_t size() override { return own(input().size()); }

  // A position inside a group can't be saved.
  bool can_save() const override {
    return members_.empty() && chosen_.empty() && OrderPlan::can_save();
  }
  // Only the input's state, because its passed_over counts the input's elements, not this plan's.
  void save(PlanState& state) const override { input().save(state.reset(1).inputs[0]); }

 protected:
  Stop do_plan(TicketSink& out, Wait wait) override {
    while (out.count() == 0) {
      Stop stop = Stop::none;
      if (chosen_.empty()) {
        try {
          stop = gather(out.room().size(), wait);
        } catch (...) {
          keep_last();  // an error comes after the elements before it in its group
          yield(out);
          throw;
        }
        keep_own();
        if (stop == Stop::end) keep_last();
      }
      yield(out);
      if (stop != Stop::none) return chosen_.empty() ? stop : Stop::none;
    }
    return Stop::none;
  }

  Stop do_advance(uint64_t count, uint64_t& passed) override {
    if (lost_.may_come()) return Plan::do_advance(count, passed);
    // Limited to avoid an overflow: any larger position is past every end.
    const uint64_t wanted = std::min(count, UINT64_MAX / num_shards_) * num_shards_;
    uint64_t inputs = members_.size();  // less than num_shards_, and so less than wanted
    forget();
    try {
      const Stop stop = advance_all(input(), wanted - inputs, inputs);
      passed += own(inputs);
      return stop;
    } catch (...) {
      passed += own(inputs);
      throw;
    }
  }

  void do_tickets_at(std::span<const uint64_t> places, std::span<Ticket> out) override {
    places_.assign(places.begin(), places.end());
    for (uint64_t& place : places_) place = place * num_shards_ + index_;
    input().tickets_at(places_, out);
  }

  void do_restart(Epoch epoch) override {
    forget();
    input().restart(epoch);
  }

  void do_restore(const PlanState& state, Epoch epoch) override {
    PlanNumbers numbers(state, 1);
    forget();
    restore_place(input(), numbers.input(), epoch);
  }

 private:
  // The number of elements of this shard among the input's first `count`, all of which exist.
  uint64_t own(uint64_t count) const {
    return count / num_shards_ + (!drop_remainder_ && count % num_shards_ > index_ ? 1 : 0);
  }

  void forget() {
    input().discard(members_);
    input().discard(chosen_);
    members_.clear();
    chosen_.clear();
  }

  // Adds tickets to members_, up to the end of `groups` groups.
  Stop gather(size_t groups, Wait wait) {
    const size_t gathered = members_.size();
    const size_t at_once = std::max<size_t>(1, std::min(groups, kStep / num_shards_));
    members_.resize(at_once * num_shards_);
    try {
      const Planned planned = input().plan(std::span(members_).subspan(gathered), wait);
      members_.resize(gathered + planned.count);
      return planned.stop;
    } catch (...) {
      members_.resize(gathered);
      throw;
    }
  }

  // Chooses this shard's ticket of each complete group.
  void keep_own() { keep(members_.size() / num_shards_ * num_shards_, true); }

  // Like keep_own(), for a group that will not be completed.
  void keep_last() { keep(members_.size(), own(members_.size()) > 0); }

  // Chooses this shard's tickets of the first `count` members, and discards the others.
  void keep(size_t count, bool with_own) {
    unwanted_.clear();
    for (size_t i = 0; i < count; ++i) {
      const bool is_own = with_own && i % num_shards_ == index_;
      const bool is_kept = is_own || lost_.must_be_yielded(members_[i]);
      (is_kept ? chosen_ : unwanted_).push_back(members_[i]);
    }
    input().discard(unwanted_);
    members_.erase(members_.begin(), members_.begin() + static_cast<std::ptrdiff_t>(count));
  }

  // Moves chosen tickets to `out`. All of them fit, unless sources were lost.
  void yield(TicketSink& out) {
    const size_t count = std::min(chosen_.size(), out.room().size());
    std::ranges::copy(std::span(chosen_).first(count), out.room().begin());
    out.take(count);
    chosen_.erase(chosen_.begin(), chosen_.begin() + static_cast<std::ptrdiff_t>(count));
  }

  static constexpr size_t kStep = 4096;

  const size_t num_shards_;
  const size_t index_;
  const bool drop_remainder_;
  const LostSources lost_;
  std::vector<Ticket> members_;  // tickets of groups; between calls, of one incomplete group
  std::vector<Ticket> chosen_;   // to be yielded; between calls, only if sources were lost
  std::vector<Ticket> unwanted_;
  std::vector<uint64_t> places_;  // scratch memory of tickets_at()
};

class ShardNode final : public UnaryNode {
 public:
  ShardNode(NodePtr input, size_t num_shards, size_t index, bool drop_remainder)
      : UnaryNode(std::move(input)),
        num_shards_(num_shards),
        index_(index),
        drop_remainder_(drop_remainder) {}
  std::string sequential_operator() const override { return input().sequential_operator(); }
  Cardinality cardinality() const override {
    const Cardinality all = input().cardinality();
    if (all < 0) return all;
    const uint64_t whole = static_cast<uint64_t>(all) / num_shards_;
    const uint64_t rest = static_cast<uint64_t>(all) % num_shards_;
    return known_cardinality(whole + (!drop_remainder_ && index_ < rest ? 1 : 0));
  }

 protected:
  PlanDescription describe_operator() const override {
    PlanDescription plan{
        "shard",
        {{"num_shards", num_shards_}, {"index", index_}, {"drop_remainder", drop_remainder_}}};
    plan.num_shards = num_shards_;
    plan.drops_remainder = drop_remainder_;
    return plan;
  }
  Stage build_stage(const StageContext& context) const override {
    return reordered<ShardPlan>(context, num_shards_, index_, drop_remainder_,
                                LostSources(input(), context));
  }

 private:
  size_t num_shards_;
  size_t index_;
  bool drop_remainder_;
};

}  // namespace

NodePtr shard(NodePtr input, size_t num_shards, size_t index, bool drop_remainder) {
  require(num_shards >= 1 && num_shards <= kMaxShards, "shard: num_shards must be 1 to 65536");
  require(index < num_shards, "shard: index must be below num_shards");
  return std::make_shared<ShardNode>(std::move(input), num_shards, index, drop_remainder);
}

}  // namespace recordpipe::internal
