// pack_sequences: packs short sequences into rows of fixed length, first-fit.
//
// An element goes to the first open row, in the order in which rows were opened, that has room for
// all its features. If none has, a new row is opened; if too many are open, the oldest is yielded
// first. A row is yielded when one of its features is full; at the end, all others follow, the
// oldest first. Saved state: see group_plan.h.
#include "recordpipe/pipeline/pack_sequences.h"

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

class PackPlan final : public GroupPlan {
 public:
  PackPlan(std::unique_ptr<Plan> measured, std::shared_ptr<Batching> shared,
           const std::vector<uint64_t>& lengths, size_t open_rows)
      : GroupPlan(std::move(measured), std::move(shared)),
        lengths_(lengths),
        max_open_(open_rows) {}

 protected:
  void add(const Ticket& member, uint64_t place, std::span<const uint64_t> sizes) override {
    auto row = std::ranges::find_if(rows_, [&](const Row& open) {
      return std::ranges::equal(sizes, open.left, std::less_equal());
    });
    if (row == rows_.end()) {
      if (rows_.size() == max_open_) yield(rows_.begin());
      row = rows_.insert(rows_.end(), {{}, lengths_});
    }
    row->group.members.push_back(member);
    row->group.places.push_back(place);
    for (size_t k = 0; k < sizes.size(); ++k) row->left[k] -= sizes[k];
    if (std::ranges::find(row->left, uint64_t{0}) != row->left.end()) yield(row);
  }

  void complete_all() override {
    while (!rows_.empty()) yield(rows_.begin());
  }

  void for_each_open(const std::function<void(const Group&)>& visit) const override {
    for (const Row& row : rows_) visit(row.group);
  }

  void clear() override { rows_.clear(); }

 private:
  struct Row {
    Group group;
    std::vector<uint64_t> left;  // room for values, of each feature
  };

  void yield(std::vector<Row>::iterator row) {
    complete(row->group);
    rows_.erase(row);
  }

  const std::vector<uint64_t>& lengths_;  // owned by the node
  const size_t max_open_;
  std::vector<Row> rows_;  // open, the oldest first
};

class PackNode final : public UnaryNode {
 public:
  PackNode(NodePtr input, std::unique_ptr<const MeasureFunction> sizes,
           const std::vector<size_t>& lengths, const PackOptions& options,
           std::unique_ptr<const BatchFunction> collator, const ElementOps& row)
      : UnaryNode(std::move(input), row),
        sizes_(std::move(sizes)),
        options_(options),
        limits_{{lengths.begin(), lengths.end()},
                options.too_long == TooLong::truncate,
                "pack_sequences"},
        collator_(std::move(collator)) {}

 protected:
  PlanDescription describe_operator() const override {
    std::string lengths;
    for (const uint64_t length : limits_.most) {
      lengths += (lengths.empty() ? "" : ",") + std::to_string(length);
    }
    PlanDescription plan{
        "pack_sequences",
        {{"lengths", lengths},
         {"open_rows", options_.open_rows},
         {"too_long", options_.too_long == TooLong::truncate ? "truncate" : "error"}}};
    plan.add(sizes_->parameters());
    plan.add(collator_->parameters());
    return plan;
  }

  Stage build_stage(const StageContext& context) const override {
    Stage rows = measured_stage(input().make_stage(context), *sizes_, limits_, context);
    const auto shared = std::make_shared<Batching>(rows, *collator_, element());
    constexpr size_t kRowsPerChunk = 4;  // a row takes as much work as many elements
    return {
        std::make_unique<PackPlan>(std::move(rows.plan), shared, limits_.most, options_.open_rows),
        batch_work(shared), kRowsPerChunk};
  }

 private:
  std::unique_ptr<const MeasureFunction> sizes_;
  PackOptions options_;
  SizeLimits limits_;
  std::unique_ptr<const BatchFunction> collator_;
};

}  // namespace

NodePtr pack_sequences(NodePtr input, std::unique_ptr<const MeasureFunction> sizes,
                       const std::vector<size_t>& lengths, const PackOptions& options,
                       std::unique_ptr<const BatchFunction> collator, const ElementOps& row) {
  const auto require = [](bool condition, const char* reason) {
    if (condition) return;
    throw Error(
        {.kind = ErrorKind::invalid_argument, .reason = std::string("pack_sequences: ") + reason});
  };
  require(!lengths.empty(), "needs the length of at least one feature");
  require(std::ranges::find(lengths, size_t{0}) == lengths.end(), "lengths must be at least 1");
  require(options.open_rows > 0, "open_rows must be at least 1");
  require(sizes->sizes_per_element() == lengths.size(), "needs a length for each feature");
  return std::make_shared<PackNode>(std::move(input), std::move(sizes), lengths, options,
                                    std::move(collator), row);
}

}  // namespace recordpipe::internal
