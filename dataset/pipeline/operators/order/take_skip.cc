// take yields the first elements; skip yields all other elements.
//
// Both keep the order of the input; elements that are not returned are not computed. They have
// random access if the input has it. Saved state: the number of elements taken or skipped, and the
// input's position.
#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "dataset/pipeline/plan/lost_sources.h"
#include "dataset/pipeline/plan/node.h"
#include "recordpipe/pipeline/internal/operators.h"

namespace recordpipe::internal {
namespace {

// Counts elements up to `count`.
class CountPlan : public OrderPlan {
 public:
  CountPlan(std::unique_ptr<Plan> input, uint64_t count)
      : OrderPlan(std::move(input)), count_(count) {}

  void save(PlanState& state) const override {
    state.reset(1).numbers = {counted_};
    input().save(state.inputs[0]);
  }

 protected:
  void do_restart(Epoch epoch) override {
    forget();
    counted_ = 0;
    input().restart(epoch);
  }

  void do_restore(const PlanState& state, Epoch epoch) override {
    PlanNumbers numbers(state, 1);
    forget();
    counted_ = numbers.next(count_);
    restore_place(input(), numbers.input(), epoch);
  }

  virtual void forget() {}

  const uint64_t count_;
  uint64_t counted_ = 0;  // elements taken or skipped
};

class TakePlan final : public CountPlan {
 public:
  using CountPlan::CountPlan;
  static Cardinality cardinality(const Node& input, uint64_t count) {
    if (count == 0) return 0;
    const Cardinality all = input.cardinality();
    if (all == kUnknownCardinality) return all;
    return known_cardinality(all < 0 ? count : std::min<uint64_t>(count, all));
  }
  uint64_t size() override { return std::min(count_, input().size()); }

 protected:
  // Never asks the input for more elements than it takes.
  Stop do_plan(TicketSink& out, Wait wait) override {
    const auto wanted =
        static_cast<size_t>(std::min<uint64_t>(out.room().size(), count_ - counted_));
    if (wanted == 0) return Stop::end;
    const Planned planned = input().plan(out.room().first(wanted), wait);
    out.take(planned.count);
    counted_ += planned.count;
    return planned.stop;
  }

  Stop do_advance(uint64_t count, uint64_t& passed) override {
    const uint64_t wanted = std::min(count, count_ - counted_);
    if (wanted == 0) return Stop::end;
    const Planned planned = input().advance(wanted);
    passed += planned.count;
    counted_ += planned.count;
    if (planned.stop != Stop::none) return planned.stop;
    return counted_ == count_ && passed < count ? Stop::end : Stop::none;
  }

  void do_tickets_at(std::span<const uint64_t> places, std::span<Ticket> out) override {
    input().tickets_at(places, out);
  }
};

class SkipPlan final : public CountPlan {
 public:
  SkipPlan(std::unique_ptr<Plan> input, uint64_t count, const LostSources& lost)
      : CountPlan(std::move(input), count), lost_(lost) {}
  bool can_save() const override { return kept_.empty() && CountPlan::can_save(); }
  static Cardinality cardinality(const Node& input, uint64_t count) {
    const Cardinality all = input.cardinality();
    return all < 0 ? all : known_cardinality(all - std::min<uint64_t>(count, all));
  }
  uint64_t size() override {
    const uint64_t all = input().size();
    return all - std::min(count_, all);
  }

 protected:
  Stop do_plan(TicketSink& out, Wait wait) override {
    if (counted_ < count_ && wait == Wait::no) return Stop::would_wait;  // advance() may wait
    try {
      if (const Stop stop = skip(); stop != Stop::none && kept_.empty()) return stop;
    } catch (...) {
      if (kept_.empty()) throw;  // an error comes after the elements before it
    }
    if (!kept_.empty()) {
      const size_t count = std::min(kept_.size(), out.room().size());
      std::ranges::copy(std::span(kept_).first(count), out.room().begin());
      out.take(count);
      kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(count));
      return Stop::none;
    }
    const Planned planned = input().plan(out.room(), wait);
    out.take(planned.count);
    return planned.stop;
  }

  Stop do_advance(uint64_t count, uint64_t& passed) override {
    if (lost_.may_come()) return Plan::do_advance(count, passed);
    if (const Stop stop = skip(); stop != Stop::none) return stop;
    return advance_all(input(), count, passed);
  }

  void do_tickets_at(std::span<const uint64_t> places, std::span<Ticket> out) override {
    places_.assign(places.begin(), places.end());
    for (uint64_t& place : places_) place += count_;
    input().tickets_at(places_, out);
  }

 private:
  // Skips the first `count_` elements without computing them.
  Stop skip() {
    if (lost_.may_come()) return skip_one_by_one();
    const Stop stop = advance_all(input(), count_ - counted_, counted_);
    return counted_ == count_ ? Stop::none : stop;
  }

  // Keeps the elements that stand for lost sources.
  Stop skip_one_by_one() {
    while (counted_ < count_) {
      std::array<Ticket, 256> tickets;
      const auto wanted =
          static_cast<size_t>(std::min<uint64_t>(tickets.size(), count_ - counted_));
      const Planned planned = input().plan(std::span(tickets).first(wanted), Wait::yes);
      counted_ += planned.count;
      for (const Ticket& ticket : std::span(tickets).first(planned.count)) {
        if (lost_.must_be_yielded(ticket)) {
          kept_.push_back(ticket);
        } else {
          input().discard({&ticket, 1});
        }
      }
      if (planned.stop != Stop::none && counted_ < count_) return planned.stop;
    }
    return Stop::none;
  }

  void forget() override {
    input().discard(kept_);
    kept_.clear();
  }

  const LostSources lost_;
  std::vector<Ticket> kept_;      // of the skipped elements, those that are yielded
  std::vector<uint64_t> places_;  // scratch memory of tickets_at()
};

// The node of take or skip.
template <class P>
class CountNode final : public UnaryNode {
 public:
  CountNode(NodePtr input, const char* name, uint64_t count)
      : UnaryNode(std::move(input)), name_(name), count_(count) {}
  std::string sequential_operator() const override { return input().sequential_operator(); }
  Cardinality cardinality() const override { return P::cardinality(input(), count_); }

 protected:
  PlanDescription describe_operator() const override { return {name_, {{"count", count_}}}; }
  Stage build_stage(const StageContext& context) const override {
    if constexpr (std::is_same_v<P, SkipPlan>) {
      return reordered<P>(context, count_, LostSources(input(), context));
    } else {
      return reordered<P>(context, count_);
    }
  }

 private:
  const char* name_;
  uint64_t count_;
};

}  // namespace

NodePtr take(NodePtr input, uint64_t count) {
  return std::make_shared<CountNode<TakePlan>>(std::move(input), "take", count);
}

NodePtr skip(NodePtr input, uint64_t count) {
  return std::make_shared<CountNode<SkipPlan>>(std::move(input), "skip", count);
}

}  // namespace recordpipe::internal
