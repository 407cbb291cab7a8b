#include "dataset/pipeline/operators/grouping/measured_elements.h"

#include <algorithm>
#include <utility>

#include "dataset/pipeline/execute/producer.h"
#include "dataset/pipeline/operators/order/plan_places.h"
#include "recordpipe/base/error.h"

namespace recordpipe::internal {
namespace {

class MeasureProducer final : public Producer {
 public:
  MeasureProducer(std::unique_ptr<Producer> input, const MeasureFunction& function,
                  const SizeLimits& limits)
      : input_(std::move(input)), function_(function), limits_(limits) {}
  std::span<const uint64_t> sizes() const override { return sizes_; }

 protected:
  Failures do_produce(std::span<const Ticket> tickets, void* out) override {
    Failures failures = input_->produce(tickets, out);
    const size_t per_element = function_.sizes_per_element();
    sizes_.assign(tickets.size() * per_element, 0);
    function_.measure(tickets.size(), out, sizes_.data(), failures);
    if (limits_.most.empty()) return failures;
    for_each_good(tickets.size(), failures, [&](size_t i) {
      limit(std::span(sizes_).subspan(i * per_element, per_element));
    });
    return failures;
  }

 private:
  void limit(std::span<uint64_t> sizes) const {
    for (size_t k = 0; k < sizes.size(); ++k) {
      if (sizes[k] <= limits_.most[k]) continue;
      if (!limits_.cut) {
        throw Error({.kind = ErrorKind::invalid_argument,
                     .reason = limits_.description + ": a sequence of " + std::to_string(sizes[k]) +
                               " values, where at most " + std::to_string(limits_.most[k]) +
                               " fit"});
      }
      sizes[k] = limits_.most[k];
    }
  }

  std::unique_ptr<Producer> input_;
  const MeasureFunction& function_;
  const SizeLimits& limits_;
  std::vector<uint64_t> sizes_;
};

}  // namespace

void fail_negative_size() {
  throw Error({.kind = ErrorKind::invalid_argument, .reason = "an element of a negative length"});
}

void fail_number_of_sizes(size_t sizes, size_t wanted) {
  throw Error({.kind = ErrorKind::invalid_argument,
               .reason = "an element with the sizes of " + std::to_string(sizes) +
                         " features instead of " + std::to_string(wanted)});
}

Stop MeasuredPlan::do_plan(TicketSink& out, Wait) {
  sizes_.clear();
  failed_.clear();
  if (!reader_.fetch()) return end_or_stop();
  const Chunk chunk = reader_.chunk();
  const size_t first = reader_.place();
  const size_t count = std::min(reader_.count_at_hand(), out.room().size());
  const std::span<Ticket> tickets = out.room().first(count);
  for (size_t i = 0; i < count; ++i) tickets[i] = {chunk.tickets[first + i].id, first + i};
  Failures failures = reader_.take_failures(count);
  const auto sizes = chunk.sizes.subspan(first * sizes_per_element_, count * sizes_per_element_);
  sizes_.assign(sizes.begin(), sizes.end());
  failed_.assign(count, 0);
  for (const Failure& failure : failures) failed_[failure.at] = 1;
  store().put(chunk.values, tickets, failures);
  reader_.pass(count);
  out.take(count);
  return Stop::none;
}

Stage measured_stage(Stage input, const MeasureFunction& function, const SizeLimits& limits,
                     const StageContext& context) {
  const ElementOps& element = input.work->element();
  const size_t chunk_size = input.chunk_size;
  input.work = std::make_shared<Work>(
      element, /*is_heavy=*/true, [&function, &limits, inputs = std::move(input.work)] {
        return std::make_unique<MeasureProducer>(inputs->make_producer(), function, limits);
      });
  input.plan = std::make_unique<ChosenFirstPlan>(std::move(input.plan));
  input.plan->observe(context.memory, nullptr);
  Stage measured = make_store_stage<MeasuredPlan>(element, chunk_size, std::move(input),
                                                  function.sizes_per_element(), context);
  measured.plan->observe(context.memory, nullptr);
  return measured;
}

}  // namespace recordpipe::internal
