#include "dataset/pipeline/operators/grouping/batching.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <utility>
#include <vector>

#include "dataset/pipeline/execute/element_buffer.h"
#include "dataset/pipeline/execute/producer.h"

namespace recordpipe::internal {
namespace {

// Returns the number of parts of a batch. A part is a run of `rows_per_part` rows; the last part
// may be shorter.
constexpr size_t parts_of(size_t rows, size_t rows_per_part) {
  return (rows + rows_per_part - 1) / rows_per_part;
}

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
      : Work(shared->batch, /*is_heavy=*/true,
             [batching = shared.get()] { return std::make_unique<BatchProducer>(*batching); }),
        shared_(std::move(shared)) {}
  size_t parts(std::span<const Ticket> tickets) const override {
    if (tickets.size() != 1) return 1;
    const size_t rows = shared_->groups.look_at(
        tickets[0], [](const TicketGroup& members) { return members.size(); });
    return parts_of(rows, shared_->rows_per_part);
  }

 private:
  std::shared_ptr<Batching> shared_;
};

}  // namespace

std::shared_ptr<Work> batch_work(std::shared_ptr<Batching> shared) {
  return std::make_shared<BatchWork>(std::move(shared));
}

void discard_batches(std::span<const Ticket> tickets, GatheredTickets& groups, Plan& input) {
  for (const Ticket& ticket : tickets) {
    TicketGroup members;
    groups.take({&ticket, 1}, {&members, 1});
    input.discard(members);
  }
}

}  // namespace recordpipe::internal
