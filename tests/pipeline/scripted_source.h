// A source for tests of plans without an executor. It returns random numbers of elements, pretends
// to wait at random, may end with an error, and checks that each of its tickets is used once. The
// end or error comes with the last elements or in a separate call, at random.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "dataset/pipeline/execute/producer.h"
#include "dataset/pipeline/plan/node.h"
#include "dataset/pipeline/plan/plan.h"
#include "dataset/pipeline/plan/stage.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/philox.h"
#include "recordpipe/pipeline/internal/element_ops.h"
#include "recordpipe/pipeline/internal/ticket.h"
#include "tests/pipeline/value.h"

namespace recordpipe::internal {

// Checks that each ticket is produced or discarded once. Thread-safe.
class TicketLedger {
 public:
  uint64_t issue(uint64_t index) {
    const std::lock_guard lock(mutex_);
    unused_.emplace(++last_, index);
    return last_;
  }

  // Marks the ticket as used; returns the element's index.
  uint64_t use(const Ticket& ticket) {
    const std::lock_guard lock(mutex_);
    const auto found = unused_.find(ticket.ref);
    if (found == unused_.end()) {
      ADD_FAILURE() << "ticket " << ticket.ref << " is used twice, or was never planned";
      return 0;
    }
    const uint64_t index = found->second;
    unused_.erase(found);
    return index;
  }

  // Sets a function that the source calls once, in its next do_plan(), which is inside the
  // do_plan() of the operator.
  void set_interruption(std::function<void()> interruption) {
    const std::lock_guard lock(mutex_);
    interruption_ = std::move(interruption);
  }
  // Removes the interruption; returns false if it has been called.
  bool take_interruption() { return exchange_interruption() != nullptr; }
  void interrupt() {
    if (const auto interruption = exchange_interruption()) interruption();
  }

  size_t unused() const {
    const std::lock_guard lock(mutex_);
    return unused_.size();
  }

 private:
  std::function<void()> exchange_interruption() {
    const std::lock_guard lock(mutex_);
    return std::exchange(interruption_, nullptr);
  }

  mutable std::mutex mutex_;
  std::function<void()> interruption_;
  uint64_t last_ = 0;
  std::unordered_map<uint64_t, uint64_t> unused_;  // element indices by ref
};

// Yields the numbers below `size`; computing a number for which fails() is true throws.
struct Script {
  uint64_t size = 0;
  std::string error = {};  // the error at the end; empty: none
  uint64_t seed = 0;       // for the number of elements per call, and for waiting

  static bool fails(uint64_t index) { return index % 13 == 7; }
  static Error failure(uint64_t index) {
    return Error({.kind = ErrorKind::corrupted, .reason = "bad " + std::to_string(index)});
  }
};

class ScriptedPlan final : public Plan {
 public:
  ScriptedPlan(const Script& script, std::shared_ptr<TicketLedger> ledger)
      : script_(script), ledger_(std::move(ledger)), random_(script.seed, 0, 0) {}

  void discard(std::span<const Ticket> tickets) override {
    for (const Ticket& ticket : tickets) ledger_->use(ticket);
  }

  void save(PlanState& state) const override { state.reset(0).numbers = {next_}; }
  uint64_t size() override { return script_.size; }

 protected:
  Stop do_plan(TicketSink& out, Wait wait) override {
    EXPECT_FALSE(out.is_full()) << "asked for nothing";
    ledger_->interrupt();
    if (is_stopping()) return Stop::requested;
    if (wait == Wait::no && random_.below(3) == 0) return Stop::would_wait;
    const uint64_t planned = some_of(out.room().size());
    for (uint64_t i = 0; i < planned; ++i) out.push(ticket_of(next_++));
    if (wait == Wait::no && random_.below(4) == 0) return Stop::would_wait;
    return outcome(planned);
  }

  Stop do_advance(uint64_t count, uint64_t& passed) override {
    EXPECT_GT(count, 0u) << "asked for nothing";
    if (is_stopping()) return Stop::requested;
    const uint64_t here = some_of(count);
    next_ += here;
    passed += here;
    return outcome(here);
  }

  void do_restart(Epoch epoch) override {
    epoch_ = epoch.ids;
    next_ = 0;
  }

  void do_restore(const PlanState& state, Epoch epoch) override {
    do_restart(epoch);
    next_ = PlanNumbers(state, 0).next(script_.size);
  }

  void do_tickets_at(std::span<const uint64_t> places, std::span<Ticket> out) override {
    for (size_t i = 0; i < places.size(); ++i) out[i] = ticket_of(places[i]);
  }

 private:
  // Draws from 1 to `count`, at most the elements left; returns 0 if there are none.
  uint64_t some_of(uint64_t count) {
    const uint64_t left = std::min(count, script_.size - next_);
    return left == 0 ? 0 : 1 + random_.below(static_cast<uint32_t>(left));
  }

  // Returns the result of a call that planned `count` elements, or throws the error. Each error has
  // a different message.
  Stop outcome(uint64_t count) {
    if (next_ < script_.size || (count > 0 && random_.below(2) == 0)) return Stop::none;
    if (script_.error.empty()) return Stop::end;
    throw std::runtime_error(script_.error + ", error " + std::to_string(++errors_));
  }

  Ticket ticket_of(uint64_t index) { return {{epoch_, index}, ledger_->issue(index)}; }

  const Script script_;
  const std::shared_ptr<TicketLedger> ledger_;
  Random random_;
  uint64_t epoch_ = 0;
  uint64_t next_ = 0;
  uint64_t errors_ = 0;
};

class ScriptedProducer final : public Producer {
 public:
  explicit ScriptedProducer(std::shared_ptr<TicketLedger> ledger) : ledger_(std::move(ledger)) {}

 protected:
  Failures do_produce(std::span<const Ticket> tickets, void* out) override {
    Failures failures;
    for (size_t i = 0; i < tickets.size(); ++i) {
      const uint64_t index = ledger_->use(tickets[i]);
      if (Script::fails(index)) {
        failures.push_back({i, std::make_exception_ptr(Script::failure(index))});
      } else {
        static_cast<Value*>(out)[i] = number_value(static_cast<int64_t>(index));
      }
    }
    return failures;
  }

 private:
  const std::shared_ptr<TicketLedger> ledger_;
};

class ScriptedNode final : public Node {
 public:
  ScriptedNode(Script script, std::shared_ptr<TicketLedger> ledger)
      : Node(element_ops<Value>()), script_(std::move(script)), ledger_(std::move(ledger)) {}
  std::string sequential_operator() const override { return {}; }

 protected:
  PlanDescription describe_operator() const override { return {.name = "scripted"}; }
  Stage build_stage(const StageContext& context) const override {
    return {std::make_unique<ScriptedPlan>(script_, ledger_),
            std::make_shared<Work>(
                element(), /*is_heavy=*/true,
                [ledger = ledger_] { return std::make_unique<ScriptedProducer>(ledger); }),
            context.chunk_size};
  }

 private:
  Script script_;
  std::shared_ptr<TicketLedger> ledger_;
};

}  // namespace recordpipe::internal
