// batch: n elements become one, each written straight to its row of a reused slot.
//
// By default a std::vector<T>, and a last one that is shorter than the others. In order; batch k of
// a pass has the id {epoch, k}. A batch with an element that failed fails. No random access. Saved:
// the number of batches, and the input's place, which is always one between two of them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "recordpipe/collator.h"
#include "recordpipe/internal/engine/node.h"
#include "recordpipe/internal/engine/stage.h"
#include "recordpipe/internal/engine/value_store.h"

namespace recordpipe {

using BatchMembers = std::vector<Ticket>;

template <Element T>
void discard_batches(std::span<const Ticket> tickets, ValueStore<BatchMembers>& plans,
                     Stage<T>& upstream) {
  for (const Ticket& ticket : tickets) {
    BatchMembers members;
    plans.take({&ticket, 1}, {&members, 1});
    upstream.discard(members);
  }
}

// A batch is cut into runs of so many rows, the last of which may be shorter.
constexpr size_t parts_of(size_t rows, size_t rows_per_part) {
  return (rows + rows_per_part - 1) / rows_per_part;
}

template <Element T, CollatorOf<T> Collator>
class BatchProducer final : public Producer<typename Collator::Batch> {
 public:
  using Batch = typename Collator::Batch;

  BatchProducer(Stage<T>& upstream, ValueStore<BatchMembers>& plans, const Collator& collator)
      : upstream_(upstream),
        plans_(plans),
        collator_(collator),
        rows_per_part_(upstream.chunk_size()) {}

  Failures produce(std::span<const Ticket> tickets, std::span<Batch> out) override {
    Failures failures;
    for (size_t i = 0; i < tickets.size(); ++i) {
      if (auto error = produce_one(tickets.subspan(i, 1), out.subspan(i, 1))) {
        failures.push_back({i, std::move(error)});
      }
    }
    return failures;
  }

  // One batch is cut into runs of rows; more than one is a single part.
  void begin(std::span<const Ticket> tickets, std::span<Batch> out) override {
    if (tickets.size() != 1) return;
    plans_.take(tickets, {&members_, 1});
    const size_t parts = parts_of(members_.size(), rows_per_part_);
    while (parts_.size() < parts) parts_.push_back({upstream_.make_producer(), {}});
    missing_parts_ = parts;
    reset_error_ = nullptr;
    try {
      collator_.reset(out[0], members_.size());
    } catch (...) {
      reset_error_ = std::current_exception();
    }
  }

  Failures produce_part(std::span<const Ticket> tickets, std::span<Batch> out,
                        size_t part) override {
    if (tickets.size() != 1) return produce(tickets, out);
    const size_t first = part * rows_per_part_;
    const size_t rows = std::min(rows_per_part_, members_.size() - first);
    auto& [producer, elements] = parts_[part];
    const auto tickets_of_part = std::span(members_).subspan(first, rows);
    if (reset_error_) {
      upstream_.discard(tickets_of_part);
      return {{0, reset_error_}};
    }
    if (elements.size() < rows) elements.resize(rows);
    const Failures failures = producer->produce(tickets_of_part, {elements.data(), rows});
    if (!failures.empty()) return {{0, failures.front().error}};
    try {
      set_rows(out[0], first, {elements.data(), rows});
      if constexpr (FinishingCollator<Collator>) {
        if (missing_parts_.fetch_sub(1, std::memory_order_acq_rel) == 1) collator_.finish(out[0]);
      }
    } catch (...) {
      return {{0, std::current_exception()}};
    }
    return {};
  }

 private:
  void set_rows(Batch& batch, size_t first, std::span<T> elements) const {
    size_t row = 0;
    if constexpr (ForesightedCollator<Collator, T>) {
      for (; row + 1 < elements.size(); ++row) {
        collator_.set(batch, first + row, std::move(elements[row]), elements[row + 1]);
      }
    }
    for (; row < elements.size(); ++row) {
      collator_.set(batch, first + row, std::move(elements[row]));
    }
  }

  // All parts, after an error too: they use up their tickets.
  std::exception_ptr produce_one(std::span<const Ticket> ticket, std::span<Batch> out) {
    std::exception_ptr error;
    begin(ticket, out);
    const size_t parts = parts_of(members_.size(), rows_per_part_);
    for (size_t part = 0; part < parts; ++part) {
      const Failures failures = produce_part(ticket, out, part);
      if (!error && !failures.empty()) error = failures.front().error;
    }
    return error;
  }

  struct Part {
    std::unique_ptr<Producer<T>> producer;
    std::vector<T> elements;
  };

  Stage<T>& upstream_;
  ValueStore<BatchMembers>& plans_;
  const Collator& collator_;
  const size_t rows_per_part_;
  std::vector<Part> parts_;
  BatchMembers members_;                  // of the batch in work
  std::exception_ptr reset_error_;        // the collator's, for it
  std::atomic<size_t> missing_parts_{0};  // of it; one with an error stays missing
};

template <Element T, CollatorOf<T> Collator>
class BatchStage final : public Stage<typename Collator::Batch> {
 public:
  using Batch = typename Collator::Batch;

  BatchStage(std::unique_ptr<Stage<T>> upstream, size_t batch_size, bool drop_remainder,
             const Collator& collator)
      : upstream_(std::move(upstream)),
        batch_size_(batch_size),
        drop_remainder_(drop_remainder),
        collator_(collator) {}

  size_t do_plan(std::span<Ticket> out, Wait wait) override {
    size_t planned = 0;
    for (; planned < out.size(); ++planned) {
      try {
        if (!gather(planned == 0 ? wait : Wait::no)) break;
      } catch (...) {
        if (planned == 0) throw;  // else thrown again by the next call
        break;
      }
      out[planned] = {{epoch_, next_++}, plans_.put(members_)};
      members_.clear();
    }
    return planned;
  }

  void charge_to(const std::shared_ptr<MemoryAccount>& account) override {
    plans_.charge_to(account);
  }

  void do_discard(std::span<const Ticket> tickets) override {
    discard_batches(tickets, plans_, *upstream_);
  }

  void do_restart(uint64_t epoch) override {
    upstream_->discard(members_);
    members_.clear();
    epoch_ = epoch;
    next_ = 0;
    upstream_->restart(epoch);
  }

  uint64_t do_advance(uint64_t count) override {
    // A place further on than this is past every end.
    const uint64_t most = UINT64_MAX / batch_size_;
    const uint64_t wanted = std::min(count, most) * batch_size_;
    uint64_t passed = members_.size();  // of the input; below batch_size_, and so below wanted
    upstream_->discard(members_);
    members_.clear();
    passed += upstream_->advance(wanted - passed);
    uint64_t batches = passed / batch_size_;
    if (passed % batch_size_ > 0) {
      // The input's end, or an error: then the rows before it that fill no batch are dropped.
      try {
        if (upstream_->advance(1) == 0 && !drop_remainder_) ++batches;
      } catch (...) {
        if (batches == 0) throw;
      }
    }
    next_ += batches;
    return batches;
  }

  // Not in the middle of a batch.
  bool can_save() const override { return members_.empty() && upstream_->can_save(); }

  void save(PlanState& state) const override {
    state.reset(1).numbers = {next_};
    upstream_->save(state.inputs[0]);
  }

  void do_restore(const PlanState& state, uint64_t epoch) override {
    PlanNumbers numbers(state, 1);
    upstream_->discard(members_);
    members_.clear();
    epoch_ = epoch;
    next_ = numbers.next();
    restore_place(*upstream_, numbers.input(), epoch);
  }

  void do_request_stop() override { upstream_->request_stop(); }

  std::unique_ptr<Producer<Batch>> make_producer() override {
    return std::make_unique<BatchProducer<T, Collator>>(*upstream_, plans_, collator_);
  }
  bool has_work() const override { return true; }
  // Small batches make a chunk together; one that fills a chunk is one, in as many parts.
  size_t chunk_size() const override {
    return std::max<size_t>(1, upstream_->chunk_size() / batch_size_);
  }
  size_t parts(std::span<const Ticket> tickets) override {
    if (tickets.size() != 1) return 1;
    const size_t rows =
        plans_.look_at(tickets[0], [](const auto& members) { return members.size(); });
    return parts_of(rows, upstream_->chunk_size());
  }

 private:
  // Fills members_ with the next batch's tickets; false where there is none, or where it would have
  // to wait: then what was gathered stays. So it does after an exception, which is for good.
  bool gather(Wait wait) {
    size_t gathered = members_.size();
    try {
      while (gathered < batch_size_) {
        members_.resize(std::min(batch_size_, gathered + kStep));
        const size_t planned = upstream_->plan(std::span(members_).subspan(gathered), wait);
        if (planned == 0) break;
        gathered += planned;
      }
    } catch (...) {
      members_.resize(gathered);
      throw;
    }
    members_.resize(gathered);
    if (gathered == batch_size_) return true;
    if (wait == Wait::no) return false;
    if (gathered > 0 && !drop_remainder_) return true;
    upstream_->discard(members_);
    members_.clear();
    return false;
  }

  std::unique_ptr<Stage<T>> upstream_;
  const size_t batch_size_;
  const bool drop_remainder_;
  static constexpr size_t kStep = 4096;  // a batch size is no reason to take memory at once

  const Collator& collator_;  // the node's
  ValueStore<BatchMembers> plans_;
  BatchMembers members_;  // being gathered
  uint64_t epoch_ = 0;
  uint64_t next_ = 0;
};

template <Element T, CollatorOf<T> Collator>
class BatchNode final : public UnaryNode<typename Collator::Batch, T> {
 public:
  using Batch = typename Collator::Batch;

  BatchNode(std::shared_ptr<const Node<T>> upstream, size_t batch_size, bool drop_remainder,
            Collator collator)
      : UnaryNode<Batch, T>(std::move(upstream)),
        batch_size_(batch_size),
        drop_remainder_(drop_remainder),
        collator_(std::move(collator)) {}
  std::unique_ptr<Stage<Batch>> build_stage(const StageContext& context) const override {
    return std::make_unique<BatchStage<T, Collator>>(this->upstream().make_stage(context),
                                                     batch_size_, drop_remainder_, collator_);
  }

  PlanDescription describe() const override {
    PlanDescription collator = {.name = "batch"};
    if constexpr (DescribedCollator<Collator>) collator = collator_.describe();
    PlanDescription plan = this->described(std::move(collator.name), {});
    // That of all workers together: each has its part of the same global batch.
    const uint64_t workers = plan.inputs[0].free_shards();
    plan.parameters = {{"batch_size", batch_size_ * workers}, {"drop_remainder", drop_remainder_}};
    std::ranges::move(collator.parameters, std::back_inserter(plan.parameters));
    if (workers > 1) {
      plan.parameters.push_back(PlanParameter("of_this_shard", batch_size_).free());
    }
    return plan;
  }

 private:
  size_t batch_size_;
  bool drop_remainder_;
  Collator collator_;
};

}  // namespace recordpipe
