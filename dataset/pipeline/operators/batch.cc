// batch: combines n elements into one; each is written directly to its row in a reused slot.
//
// Keeps the order; all threads compute and write the rows of a batch. If rows fail, the whole batch
// fails with the error of the first of them. The id of a batch is its number. Saved state: the
// number of batches, and the input's position.
#include <algorithm>
#include <atomic>
#include <exception>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "dataset/pipeline/engine/node.h"
#include "dataset/pipeline/engine/ref_store.h"
#include "recordpipe/error.h"
#include "recordpipe/internal/operators.h"

namespace recordpipe::internal {
namespace {

void discard_batches(std::span<const Ticket> tickets, GatheredTickets& groups, Plan& input) {
  for (const Ticket& ticket : tickets) {
    TicketGroup members;
    groups.take({&ticket, 1}, {&members, 1});
    input.discard(members);
  }
}

// Returns the number of parts of a batch. A part is a run of `rows_per_part` rows; the last part
// may be shorter.
constexpr size_t parts_of(size_t rows, size_t rows_per_part) {
  return (rows + rows_per_part - 1) / rows_per_part;
}

// State shared by the plan, the work and the producers.
struct Batching {
  Batching(const Stage& input, const BatchFunction& c, const ElementOps& b)
      : input_plan(*input.plan),
        input_work(input.work),
        rows_per_part(input.chunk_size),
        collator(c),
        batch(b) {}

  Plan& input_plan;  // owned by the plan
  const std::shared_ptr<Work> input_work;
  const size_t rows_per_part;
  const BatchFunction& collator;  // owned by the node
  const ElementOps& batch;
  GatheredTickets groups;
};

class BatchProducer final : public Producer {
 public:
  explicit BatchProducer(Batching& shared) : shared_(shared) {}

 protected:
  Failures do_produce(std::span<const Ticket> tickets, void* out) override {
    Failures failures;
    for (size_t i = 0; i < tickets.size(); ++i) {
      if (auto error = produce_one(tickets.subspan(i, 1), element_at(out, shared_.batch, i))) {
        failures.push_back({i, std::move(error)});
      }
    }
    return failures;
  }

  // A single batch is divided into runs of rows; several batches form one part.
  void do_begin(std::span<const Ticket> tickets, void* out) override {
    if (tickets.size() != 1) return;
    shared_.groups.take(tickets, {&members_, 1});
    const size_t parts = parts_of(members_.size(), shared_.rows_per_part);
    while (parts_.size() < parts) {
      parts_.push_back(
          {shared_.input_work->make_producer(), ElementBuffer(shared_.input_work->element())});
    }
    missing_parts_ = parts;
    reset_error_ = nullptr;
    try {
      shared_.collator.reset(out, members_.size());
    } catch (...) {
      reset_error_ = std::current_exception();
    }
  }

  Failures do_produce_part(std::span<const Ticket> tickets, void* out, size_t part) override {
    if (tickets.size() != 1) return do_produce(tickets, out);
    const size_t first = part * shared_.rows_per_part;
    const size_t rows = std::min(shared_.rows_per_part, members_.size() - first);
    auto& [producer, elements] = parts_[part];
    const auto tickets_of_part = std::span(members_).subspan(first, rows);
    if (reset_error_) {
      shared_.input_plan.discard(tickets_of_part);
      return {{0, reset_error_}};
    }
    elements.grow(rows);
    const Failures failures = producer->produce(tickets_of_part, elements.data());
    if (!failures.empty()) return {{0, failures.front().error}};
    try {
      shared_.collator.set(out, first, elements.data(), rows);
      if (shared_.collator.has_finish() &&
          missing_parts_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        shared_.collator.finish(out);
      }
    } catch (...) {
      return {{0, std::current_exception()}};
    }
    return {};
  }

 private:
  // Produces all parts, even after an error, to release their tickets.
  std::exception_ptr produce_one(std::span<const Ticket> ticket, void* out) {
    std::exception_ptr error;
    do_begin(ticket, out);
    const size_t parts = parts_of(members_.size(), shared_.rows_per_part);
    for (size_t part = 0; part < parts; ++part) {
      const Failures failures = do_produce_part(ticket, out, part);
      if (!error && !failures.empty()) error = failures.front().error;
    }
    return error;
  }

  struct Part {
    std::unique_ptr<Producer> producer;
    ElementBuffer elements;
  };

  Batching& shared_;
  std::vector<Part> parts_;
  TicketGroup members_;                   // of the current batch
  std::exception_ptr reset_error_;        // error of the collator's reset() for this batch
  std::atomic<size_t> missing_parts_{0};  // of this batch; a part with an error stays missing
};

class BatchWork final : public Work {
 public:
  explicit BatchWork(std::shared_ptr<Batching> shared)
      : Work(shared->batch), shared_(std::move(shared)) {}
  bool is_heavy() const override { return true; }
  size_t parts(std::span<const Ticket> tickets) const override {
    if (tickets.size() != 1) return 1;
    const size_t rows = shared_->groups.look_at(
        tickets[0], [](const TicketGroup& members) { return members.size(); });
    return parts_of(rows, shared_->rows_per_part);
  }

 protected:
  std::unique_ptr<Producer> build_producer() override {
    return std::make_unique<BatchProducer>(*shared_);
  }

 private:
  std::shared_ptr<Batching> shared_;
};

class BatchPlan final : public OrderPlan {
 public:
  BatchPlan(std::unique_ptr<Plan> input_plan, std::shared_ptr<Batching> shared, size_t batch_size,
            bool drop_remainder)
      : OrderPlan(std::move(input_plan)),
        shared_(std::move(shared)),
        batch_size_(batch_size),
        drop_remainder_(drop_remainder) {}

  void discard(std::span<const Ticket> tickets) override {
    discard_batches(tickets, shared_->groups, input());
  }

  // A position inside a batch can't be saved.
  bool can_save() const override { return members_.empty() && OrderPlan::can_save(); }

  void save(PlanState& state) const override {
    state.reset(1).numbers = {next_};
    input().save(state.inputs[0]);
  }

 protected:
  void charge_to(const std::shared_ptr<MemoryAccount>& account) override {
    shared_->groups.charge_to(account);
  }

  Stop do_plan(TicketSink& out, Wait wait) override {
    while (!out.is_full()) {
      const Stop stop = gather(out.count() == 0 ? wait : Wait::no);
      const bool is_last = stop == Stop::end && !members_.empty() && !drop_remainder_;
      if (members_.size() == batch_size_ || is_last) {
        out.push({{epoch_, next_++}, shared_->groups.put(members_)});
        members_.clear();
      }
      if (stop == Stop::end) forget();
      if (stop != Stop::none) return stop;
    }
    return Stop::none;
  }

  Stop do_advance(uint64_t count, uint64_t& passed) override {
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

  void do_restart(uint64_t epoch) override {
    forget();
    epoch_ = epoch;
    next_ = 0;
    input().restart(epoch);
  }

  void do_restore(const PlanState& state, uint64_t epoch) override {
    PlanNumbers numbers(state, 1);
    forget();
    epoch_ = epoch;
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

  void forget() {
    input().discard(members_);
    members_.clear();
  }

  // The members grow in steps: a large batch size alone must not allocate memory.
  static constexpr size_t kStep = 4096;

  std::shared_ptr<Batching> shared_;
  const size_t batch_size_;
  const bool drop_remainder_;
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
    if (workers > 1) {
      plan.parameters.push_back(PlanParameter("of_this_shard", batch_size_).free());
    }
  }

  Stage build_stage(const StageContext& context) const override {
    Stage rows = input().make_stage(context);
    const auto shared = std::make_shared<Batching>(rows, *collator_, element());
    // A chunk holds several small batches, or a single large batch, divided into parts.
    const size_t chunk_size = std::max<size_t>(1, rows.chunk_size / batch_size_);
    return {std::make_unique<BatchPlan>(std::move(rows.plan), shared, batch_size_, drop_remainder_),
            std::make_shared<BatchWork>(shared), chunk_size};
  }

 private:
  size_t batch_size_;
  bool drop_remainder_;
  std::unique_ptr<const BatchFunction> collator_;
};

}  // namespace

NodePtr batch(NodePtr input, size_t batch_size, bool drop_remainder,
              std::unique_ptr<const BatchFunction> collator, const ElementOps& batch) {
  if (batch_size == 0) {
    throw Error(
        {.kind = ErrorKind::invalid_argument, .reason = "batch: batch_size must be at least 1"});
  }
  return std::make_shared<BatchNode>(std::move(input), batch_size, drop_remainder,
                                     std::move(collator), batch);
}

}  // namespace recordpipe::internal
