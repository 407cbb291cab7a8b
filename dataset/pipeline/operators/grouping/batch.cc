// batch: combines n elements into one; each is written directly to its row in a reused slot.
//
// Keeps the order; all threads compute and write the rows of a batch. If rows fail, the whole batch
// fails with the error of the first of them. The id of a batch is its number. Saved state: the
// number of batches, and the input's position. Keeps random access.
#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "dataset/base/require.h"
#include "dataset/pipeline/operators/grouping/batching.h"
#include "dataset/pipeline/plan/lost_sources.h"
#include "dataset/pipeline/plan/node.h"
#include "dataset/pipeline/plan/ref_store.h"
#include "recordpipe/pipeline/internal/operators.h"

namespace recordpipe::internal {
namespace {

class BatchPlan final : public OrderPlan {
 public:
  BatchPlan(std::unique_ptr<Plan> input_plan, std::shared_ptr<Batching> shared, size_t batch_size,
            bool drop_remainder, const LostSources& lost)
      : OrderPlan(std::move(input_plan)),
        shared_(std::move(shared)),
        batch_size_(batch_size),
        drop_remainder_(drop_remainder),
        lost_(lost) {}

  void discard(std::span<const Ticket> tickets) override {
    discard_batches(tickets, shared_->groups, input());
  }

  // A position inside a batch can't be saved.
  bool can_save() const override { return members_.empty() && OrderPlan::can_save(); }

  void save(PlanState& state) const override {
    state.reset(1).numbers = {next_};
    input().save(state.inputs[0]);
  }

  uint64_t size() override {
    const uint64_t rows = input().size();
    return rows / batch_size_ + (!drop_remainder_ && rows % batch_size_ > 0 ? 1 : 0);
  }

 protected:
  void charge_to(const std::shared_ptr<MemoryAccount>& account) override {
    shared_->groups.charge_to(account);
  }

  Stop do_plan(TicketSink& out, Wait wait) override {
    while (!out.is_full()) {
      const Stop stop = gather(out.count() == 0 ? wait : Wait::no);
      const bool is_last = stop == Stop::end && !members_.empty() && !drops_last();
      if (members_.size() == batch_size_ || is_last) {
        const bool is_end =
            lost_.may_come() && std::ranges::any_of(members_, ends_source, &Ticket::id);
        out.push({{epoch_, is_end ? kEndOfSource : next_}, shared_->groups.put(members_)});
        ++next_;
        members_.clear();
      }
      if (stop == Stop::end) forget();
      if (stop != Stop::none) return stop;
    }
    return Stop::none;
  }

  Stop do_advance(uint64_t count, uint64_t& passed) override {
    if (drop_remainder_ && lost_.may_come()) return Plan::do_advance(count, passed);
    // Limited to avoid an overflow: any larger position is past every end.
    const uint64_t wanted = std::min(count, UINT64_MAX / batch_size_) * batch_size_;
    uint64_t rows = members_.size();  // less than batch_size_, and so less than wanted
    forget();
    const auto count_batches = [&](bool is_end) {
      passed = rows / batch_size_ + (is_end && !drop_remainder_ && rows % batch_size_ > 0 ? 1 : 0);
      next_ += passed;
    };
    try {
      const Stop stop = advance_all(input(), wanted - rows, rows);
      count_batches(stop == Stop::end);
      return stop;
    } catch (...) {
      count_batches(false);  // rows before an error that don't fill a batch are not counted
      throw;
    }
  }

  void do_tickets_at(std::span<const uint64_t> places, std::span<Ticket> out) override {
    const uint64_t rows = input().size();
    std::vector<uint64_t> of_rows;
    TicketGroup group;
    for (size_t i = 0; i < places.size(); ++i) {
      const uint64_t first = places[i] * batch_size_;
      of_rows.resize(std::min<uint64_t>(batch_size_, rows - first));
      std::iota(of_rows.begin(), of_rows.end(), first);
      group.resize(of_rows.size());
      input().tickets_at(of_rows, group);
      out[i] = {{epoch_, places[i]}, shared_->groups.put(group)};
    }
  }

  void do_restart(Epoch epoch) override {
    forget();
    epoch_ = epoch.ids;
    next_ = 0;
    input().restart(epoch);
  }

  void do_restore(const PlanState& state, Epoch epoch) override {
    PlanNumbers numbers(state, 1);
    forget();
    epoch_ = epoch.ids;
    next_ = numbers.next();
    restore_place(input(), numbers.input(), epoch);
  }

 private:
  // Adds tickets to members_ until the batch is complete, or returns the reason why it isn't. The
  // gathered tickets are kept, also after an exception.
  Stop gather(Wait wait) {
    size_t gathered = members_.size();
    Stop stop = Stop::none;
    try {
      while (gathered < batch_size_ && stop == Stop::none) {
        members_.resize(std::min(batch_size_, gathered + kStep));
        const Planned planned = input().plan(std::span(members_).subspan(gathered), wait);
        gathered += planned.count;
        stop = planned.stop;
      }
    } catch (...) {
      members_.resize(gathered);
      throw;
    }
    members_.resize(gathered);
    return stop;
  }

  // Whether the incomplete batch at the end is left out.
  bool drops_last() const {
    return drop_remainder_ && std::ranges::none_of(members_, [&](const Ticket& ticket) {
             return lost_.must_be_yielded(ticket);
           });
  }

  void forget() {
    input().discard(members_);
    members_.clear();
  }

  // The members grow in steps: a large batch size alone must not allocate memory.
  static constexpr size_t kStep = 4096;

  std::shared_ptr<Batching> shared_;
  const size_t batch_size_;
  const bool drop_remainder_;
  const LostSources lost_;
  TicketGroup members_;  // the batch being gathered
  uint64_t epoch_ = 0;
  uint64_t next_ = 0;
};

class BatchNode final : public UnaryNode {
 public:
  BatchNode(NodePtr input, size_t batch_size, bool drop_remainder,
            std::unique_ptr<const BatchFunction> collator, const ElementOps& batch)
      : UnaryNode(std::move(input), batch),
        batch_size_(batch_size),
        drop_remainder_(drop_remainder),
        collator_(std::move(collator)) {}
  std::string sequential_operator() const override { return input().sequential_operator(); }
  Cardinality cardinality() const override {
    const Cardinality rows = input().cardinality();
    if (rows < 0) return rows;
    const uint64_t whole = static_cast<uint64_t>(rows) / batch_size_;
    const bool remainder = !drop_remainder_ && static_cast<uint64_t>(rows) % batch_size_ > 0;
    return known_cardinality(whole + (remainder ? 1 : 0));
  }

 protected:
  PlanDescription describe_operator() const override { return {collator_->name()}; }
  void describe_with_inputs(PlanDescription& plan) const override {
    // The batch size of all workers together: each worker yields its part of the same global batch.
    const uint64_t workers = plan.inputs[0].free_shards();
    plan.parameters = {{"batch_size", batch_size_ * workers}, {"drop_remainder", drop_remainder_}};
    plan.add(collator_->parameters());
    plan.drops_remainder = drop_remainder_;
    if (workers > 1) {
      plan.parameters.push_back(PlanParameter("of_this_shard", batch_size_).free());
    }
  }

  Stage build_stage(const StageContext& context) const override {
    Stage rows = input().make_stage(context);
    const auto shared = std::make_shared<Batching>(rows, *collator_, element());
    // A chunk holds several small batches, or a single large batch, divided into parts.
    const size_t chunk_size = std::max<size_t>(1, rows.chunk_size / batch_size_);
    return {std::make_unique<BatchPlan>(std::move(rows.plan), shared, batch_size_, drop_remainder_,
                                        LostSources(input(), context)),
            batch_work(shared), chunk_size};
  }

 private:
  size_t batch_size_;
  bool drop_remainder_;
  std::unique_ptr<const BatchFunction> collator_;
};

}  // namespace

NodePtr batch(NodePtr input, size_t batch_size, bool drop_remainder,
              std::unique_ptr<const BatchFunction> collator, const ElementOps& batch) {
  require(batch_size > 0, "batch: batch_size must be at least 1");
  return std::make_shared<BatchNode>(std::move(input), batch_size, drop_remainder,
                                     std::move(collator), batch);
}

}  // namespace recordpipe::internal
