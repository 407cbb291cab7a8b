// filter: yields the elements for which a predicate holds.
//
// All threads test elements; the order stays the same. Elements keep their ids. An element that
// fails, in the predicate or upstream, is kept as failed. Saved state: the input's position.
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "dataset/pipeline/execute/chunk_reader.h"
#include "dataset/pipeline/execute/value_store.h"
#include "dataset/pipeline/plan/node.h"
#include "recordpipe/pipeline/internal/operators.h"

namespace recordpipe::internal {
namespace {

// Computes the input's elements, and which of them are kept.
class TestProducer final : public Producer {
 public:
  TestProducer(std::unique_ptr<Producer> input, const Predicate& predicate)
      : input_(std::move(input)), predicate_(predicate) {}
  std::span<const uint8_t> wanted() const override { return kept_; }

 protected:
  Failures do_produce(std::span<const Ticket> tickets, void* out) override {
    Failures failures = input_->produce(tickets, out);
    kept_.assign(tickets.size(), 1);
    predicate_.test(tickets.size(), out, kept_.data(), failures);
    return failures;
  }

 private:
  std::unique_ptr<Producer> input_;
  const Predicate& predicate_;
  std::vector<uint8_t> kept_;
};

class FilterPlan final : public StorePlan {
 public:
  FilterPlan(std::shared_ptr<ValueStore> store, Stage tested, const StageContext& context)
      : StorePlan(std::move(store)), reader_(std::move(tested), context) {}

  // Saves the input's position: all tested elements count, kept or not.
  void save(PlanState& state) const override { reader_.save(state.reset(1).inputs[0]); }

 protected:
  Stop do_plan(TicketSink& out, Wait) override {
    while (out.count() == 0) {
      if (!reader_.fetch()) return end_or_stop();
      keep_some(out);
    }
    return Stop::none;
  }

  void do_restart(Epoch epoch) override { reader_.restart(epoch); }
  void do_restore(const PlanState& state, Epoch epoch) override {
    reader_.restore(PlanNumbers(state, 1).input(), epoch);
  }
  void do_request_stop() override { reader_.request_stop(); }

 private:
  // Moves the kept elements at hand, as many as fit, to the store at once.
  void keep_some(TicketSink& out) {
    const Chunk chunk = reader_.chunk();
    const std::span<Ticket> room = out.room();
    const std::span<Failure> failures = reader_.failures();
    auto failure = failures.begin();
    Failures kept_failures;
    size_t kept = 0;
    size_t place = reader_.place();
    for (; place < chunk.size() && kept < room.size(); ++place) {
      if (!chunk.wanted[place]) continue;
      if (failure != failures.end() && failure->at == place) {
        kept_failures.push_back({kept, std::move((failure++)->error)});
      }
      room[kept++] = {chunk.tickets[place].id, place};
    }
    reader_.pass(place - reader_.place());
    store().put(chunk.values, room.first(kept), kept_failures);
    out.take(kept);
  }

  ChunkReader reader_;
};

class FilterNode final : public UnaryNode {
 public:
  FilterNode(NodePtr input, std::unique_ptr<const Predicate> predicate)
      : UnaryNode(std::move(input)), predicate_(std::move(predicate)) {}

 protected:
  PlanDescription describe_operator() const override {
    return PlanDescription{"filter"}.with(predicate_->parameters());
  }
  Stage build_stage(const StageContext& context) const override {
    Stage tested = input().make_stage(context);
    const size_t chunk_size = tested.chunk_size;
    tested.work = std::make_shared<Work>(
        element(), /*is_heavy=*/true, [this, computed = std::move(tested.work)] {
          return std::make_unique<TestProducer>(computed->make_producer(), *predicate_);
        });
    return make_store_stage<FilterPlan>(element(), chunk_size, std::move(tested), context);
  }

 private:
  std::unique_ptr<const Predicate> predicate_;
};

}  // namespace

NodePtr filter(NodePtr input, std::unique_ptr<const Predicate> predicate) {
  return std::make_shared<FilterNode>(std::move(input), std::move(predicate));
}

}  // namespace recordpipe::internal
