// bucket_by_sequence_length: batches of elements of similar length, as in tf.data.
//
// Elements keep their order within a bucket. A batch is yielded when its bucket is full; at the
// end, the buckets that are not empty are yielded in the order of their lengths. Saved state: see
// group_plan.h.
#include "recordpipe/pipeline/bucket_by_sequence_length.h"

#include <functional>
#include <string>

#include "dataset/pipeline/operators/grouping/batching.h"
#include "dataset/pipeline/operators/grouping/group_plan.h"
#include "dataset/pipeline/operators/grouping/measured_elements.h"
#include "dataset/pipeline/plan/node.h"
#include "recordpipe/base/error.h"
#include "recordpipe/pipeline/internal/operators.h"

namespace recordpipe::internal {
namespace {

class BucketPlan final : public GroupPlan {
 public:
  BucketPlan(std::unique_ptr<Plan> measured, std::shared_ptr<Batching> shared,
             const LengthBuckets& buckets)
      : GroupPlan(std::move(measured), std::move(shared)),
        buckets_(buckets),
        open_(buckets.batch_sizes.size()) {}

 protected:
  void add(const Ticket& member, uint64_t place, std::span<const uint64_t> sizes) override {
    const auto above = std::ranges::upper_bound(buckets_.boundaries, sizes.front());
    const auto bucket = static_cast<size_t>(above - buckets_.boundaries.begin());
    Group& group = open_[bucket];
    group.members.push_back(member);
    group.places.push_back(place);
    if (group.members.size() == buckets_.batch_sizes[bucket]) complete(group);
  }

  void complete_all() override {
    for (Group& group : open_) {
      if (group.members.empty()) continue;
      buckets_.drop_remainder ? drop(group) : complete(group);
    }
  }

  void for_each_open(const std::function<void(const Group&)>& visit) const override {
    std::ranges::for_each(open_, visit);
  }

  void clear() override { std::ranges::fill(open_, Group()); }

 private:
  const LengthBuckets& buckets_;  // owned by the node
  std::vector<Group> open_;       // one for each bucket
};

std::string joined(const std::vector<size_t>& numbers) {
  std::string text;
  for (const size_t number : numbers) {
    text += (text.empty() ? "" : ",") + std::to_string(number);
  }
  return text;
}

class BucketNode final : public UnaryNode {
 public:
  BucketNode(NodePtr input, std::unique_ptr<const MeasureFunction> length, LengthBuckets buckets,
             std::optional<size_t> most, std::unique_ptr<const BatchFunction> collator,
             const ElementOps& batch)
      : UnaryNode(std::move(input), batch),
        length_(std::move(length)),
        buckets_(std::move(buckets)),
        collator_(std::move(collator)) {
    if (most) limits_ = {{*most}, /*cut=*/false, "bucket_by_sequence_length"};
  }

 protected:
  PlanDescription describe_operator() const override {
    PlanDescription plan{"bucket_by_sequence_length",
                         {{"boundaries", joined(buckets_.boundaries)},
                          {"batch_sizes", joined(buckets_.batch_sizes)},
                          {"drop_remainder", buckets_.drop_remainder}}};
    plan.add(length_->parameters());
    plan.add(collator_->parameters());
    return plan;
  }

  Stage build_stage(const StageContext& context) const override {
    Stage rows = measured_stage(input().make_stage(context), *length_, limits_, context);
    const auto shared = std::make_shared<Batching>(rows, *collator_, element());
    // A chunk holds several small batches, or a single large batch, divided into parts.
    const size_t largest = std::ranges::max(buckets_.batch_sizes);
    const size_t chunk_size = std::max<size_t>(1, rows.chunk_size / largest);
    return {std::make_unique<BucketPlan>(std::move(rows.plan), shared, buckets_),
            batch_work(shared), chunk_size};
  }

 private:
  std::unique_ptr<const MeasureFunction> length_;
  LengthBuckets buckets_;
  SizeLimits limits_;
  std::unique_ptr<const BatchFunction> collator_;
};

}  // namespace

NodePtr bucket_by_sequence_length(NodePtr input, std::unique_ptr<const MeasureFunction> length,
                                  const LengthBuckets& buckets, std::optional<size_t> most,
                                  std::unique_ptr<const BatchFunction> collator,
                                  const ElementOps& batch) {
  const auto require = [](bool condition, const char* reason) {
    if (condition) return;
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = std::string("bucket_by_sequence_length: ") + reason});
  };
  const auto& [boundaries, batch_sizes, drop_remainder] = buckets;
  require(!boundaries.empty(), "needs at least one boundary");
  require(std::ranges::adjacent_find(boundaries, std::ranges::greater_equal()) == boundaries.end(),
          "boundaries must ascend");
  require(boundaries.front() > 0, "boundaries must be at least 1");
  require(batch_sizes.size() == boundaries.size() + 1, "needs one batch size more than boundaries");
  require(std::ranges::find(batch_sizes, size_t{0}) == batch_sizes.end(),
          "batch sizes must be at least 1");
  return std::make_shared<BucketNode>(std::move(input), std::move(length), buckets, most,
                                      std::move(collator), batch);
}

}  // namespace recordpipe::internal
