#include "dataset/pipeline/operators/combining/merge.h"

#include "dataset/pipeline/execute/element_buffer.h"
#include "dataset/pipeline/execute/producer.h"

namespace recordpipe::internal {
namespace {

// A chunk's tickets for one input.
struct InputTickets {
  std::vector<Ticket> tickets;
  std::vector<size_t> at;  // their indexes in the chunk
};

void sort_by_input(std::span<const Ticket> tickets, RefStore<InputRef>& refs,
                   std::vector<InputRef>& scratch, std::vector<InputTickets>& out) {
  scratch.resize(tickets.size());
  refs.take(tickets, scratch);
  for (InputTickets& input : out) {
    input.tickets.clear();
    input.at.clear();
  }
  for (size_t i = 0; i < tickets.size(); ++i) {
    InputTickets& input = out[scratch[i].input];
    input.tickets.push_back({tickets[i].id, scratch[i].ref});
    input.at.push_back(i);
  }
}

class MergeProducer final : public Producer {
 public:
  MergeProducer(const std::vector<std::shared_ptr<Work>>& works, RefStore<InputRef>& refs)
      : refs_(refs), by_input_(works.size()), values_(works.front()->element()) {
    for (const auto& work : works) producers_.push_back(work->make_producer());
  }

 protected:
  Failures do_produce(std::span<const Ticket> tickets, void* out) override {
    sort_by_input(tickets, refs_, scratch_, by_input_);
    const ElementOps& ops = values_.ops();
    Failures failures;
    for (size_t input = 0; input < producers_.size(); ++input) {
      const auto& [of_input, at] = by_input_[input];
      if (of_input.empty()) continue;
      values_.grow(of_input.size());
      for (Failure& failure : producers_[input]->produce(of_input, values_.data())) {
        failures.push_back({at[failure.at], std::move(failure.error)});
      }
      for (size_t i = 0; i < of_input.size(); ++i) {
        ops.swap(element_at(out, ops, at[i]), values_.at(i));
      }
    }
    std::ranges::sort(failures, {}, &Failure::at);
    return failures;
  }

 private:
  RefStore<InputRef>& refs_;
  std::vector<std::unique_ptr<Producer>> producers_;
  std::vector<InputRef> scratch_;
  std::vector<InputTickets> by_input_;
  ElementBuffer values_;
};

}  // namespace

MergePlan::MergePlan(std::vector<std::unique_ptr<Plan>> inputs)
    : inputs_(std::move(inputs)), refs_(std::make_shared<RefStore<InputRef>>()) {
  restart_inputs(0);
}

void MergePlan::discard(std::span<const Ticket> tickets) {
  std::vector<InputRef> scratch;
  std::vector<InputTickets> by_input(inputs_.size());
  sort_by_input(tickets, *refs_, scratch, by_input);
  for (size_t i = 0; i < inputs_.size(); ++i) inputs_[i]->discard(by_input[i].tickets);
}

bool MergePlan::can_save() const {
  return std::ranges::all_of(inputs_, [](const auto& input) { return input->can_save(); });
}

void MergePlan::do_request_stop() {
  for (const auto& input : inputs_) input->request_stop();
}

void MergePlan::label(std::span<Ticket> tickets, size_t input) {
  labels_.resize(tickets.size());
  for (size_t i = 0; i < tickets.size(); ++i) labels_[i] = {input, tickets[i].ref};
  refs_->put(labels_, tickets);
}

Planned MergePlan::plan_input(size_t input, TicketSink& out, size_t room, Wait wait) {
  const std::span<Ticket> tickets = out.room().first(std::min(room, out.room().size()));
  const Planned planned = inputs_[input]->plan(tickets, wait);
  label(tickets.first(planned.count), input);
  out.take(planned.count);
  return planned;
}

void MergePlan::restart_inputs(Epoch epoch) {
  for (size_t i = 0; i < inputs_.size(); ++i) inputs_[i]->restart(input_epoch(epoch, i));
}

void MergePlan::save_inputs(PlanState& state) const {
  for (size_t i = 0; i < inputs_.size(); ++i) inputs_[i]->save(state.inputs[i]);
}

void MergePlan::restore_inputs(const PlanNumbers& numbers, Epoch epoch) {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    restore_place(*inputs_[i], numbers.input(i), input_epoch(epoch, i));
  }
}

Stage merge_stage(std::unique_ptr<MergePlan> plan, std::vector<std::shared_ptr<Work>> works,
                  size_t chunk_size) {
  const ElementOps& element = works.front()->element();
  const bool is_heavy = std::ranges::any_of(works, &Work::is_heavy);
  auto work =
      std::make_shared<Work>(element, is_heavy, [works = std::move(works), refs = plan->refs()] {
        return std::make_unique<MergeProducer>(works, *refs);
      });
  return {std::move(plan), std::move(work), chunk_size};
}

}  // namespace recordpipe::internal
