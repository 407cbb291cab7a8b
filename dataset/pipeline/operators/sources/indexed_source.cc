// Implements the in-memory sources (from_vector, range), which compute elements by index.
//
// Yields the elements in order; also has random access. Saved state: the index of the next element.
#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dataset/pipeline/plan/node.h"
#include "recordpipe/pipeline/internal/operators.h"

namespace recordpipe::internal {
namespace {

class IndexedProducer final : public Producer {
 public:
  explicit IndexedProducer(const IndexedValues& values) : values_(values) {}

 protected:
  Failures do_produce(std::span<const Ticket> tickets, void* out) override {
    Failures failures;
    values_.get(tickets, out, failures);
    return failures;
  }

 private:
  const IndexedValues& values_;
};

class IndexedPlan final : public Plan {
 public:
  explicit IndexedPlan(uint64_t size) : size_(size) {}

  void discard(std::span<const Ticket>) override {}
  uint64_t size() override { return size_; }
  void save(PlanState& state) const override { state.reset(0).numbers = {next_}; }

 protected:
  Stop do_plan(TicketSink& out, Wait) override {
    const std::span<Ticket> room = out.room();
    const size_t count = std::min<uint64_t>(room.size(), size_ - next_);
    for (size_t i = 0; i < count; ++i) room[i] = ticket(next_ + i);
    next_ += count;
    out.take(count);
    return next_ == size_ ? Stop::end : Stop::none;
  }

  Stop do_advance(uint64_t count, uint64_t& passed) override {
    passed = std::min(count, size_ - next_);
    next_ += passed;
    return passed < count ? Stop::end : Stop::none;
  }

  void do_tickets_at(std::span<const uint64_t> places, std::span<Ticket> out) override {
    for (size_t i = 0; i < places.size(); ++i) out[i] = ticket(places[i]);
  }

  void do_restart(Epoch epoch) override {
    epoch_ = epoch.ids;
    next_ = 0;
  }

  void do_restore(const PlanState& state, Epoch epoch) override {
    epoch_ = epoch.ids;
    next_ = PlanNumbers(state, 0).next(size_);
  }

 private:
  Ticket ticket(uint64_t number) const { return {{epoch_, number}, number}; }

  const uint64_t size_;
  uint64_t epoch_ = 0;
  uint64_t next_ = 0;
};

class IndexedNode final : public Node {
 public:
  IndexedNode(std::string name, std::vector<PlanParameter> parameters,
              std::shared_ptr<const IndexedValues> values, const ElementOps& element,
              SourceFiles files)
      : Node(element),
        name_(std::move(name)),
        parameters_(std::move(parameters)),
        values_(std::move(values)),
        files_(std::move(files)) {}
  std::string sequential_operator() const override { return {}; }
  Cardinality cardinality() const override { return known_cardinality(values_->size()); }

 protected:
  PlanDescription describe_operator() const override {
    return {.name = name_,
            .parameters = parameters_,
            .file_system = files_.file_system,
            .files = files_.paths};
  }
  Stage build_stage(const StageContext& context) const override {
    return {std::make_unique<IndexedPlan>(values_->size()),
            std::make_shared<Work>(element(), /*is_heavy=*/false,
                                   [this] { return std::make_unique<IndexedProducer>(*values_); }),
            context.chunk_size};
  }

 private:
  std::string name_;
  std::vector<PlanParameter> parameters_;
  std::shared_ptr<const IndexedValues> values_;
  SourceFiles files_;
};

}  // namespace

NodePtr indexed(std::string name, std::vector<Parameter> parameters,
                std::shared_ptr<const IndexedValues> values, const ElementOps& element,
                SourceFiles files) {
  std::vector<PlanParameter> of_plan;
  for (Parameter& parameter : parameters) of_plan.emplace_back(std::move(parameter));
  return std::make_shared<IndexedNode>(std::move(name), std::move(of_plan), std::move(values),
                                       element, std::move(files));
}

}  // namespace recordpipe::internal
