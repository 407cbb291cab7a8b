// A source for tests of bare plans. It returns a random number of elements at once, would have to
// wait at random, may end with an error, and checks that each of its tickets is used once.
#pragma once

#include <algorithm>
#include <atomic>
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

#include "recordpipe/error.h"
#include "recordpipe/internal/engine/node.h"
#include "recordpipe/internal/engine/stage.h"
#include "recordpipe/philox.h"
#include "tests/pipeline/value.h"

namespace recordpipe {

// Checks that each ticket is produced or discarded once. Thread-safe.
class TicketLedger {
 public:
  uint64_t issue(uint64_t index) {
    const std::lock_guard lock(mutex_);
    unused_.emplace(++last_, index);
    return last_;
  }

  // The element's index.
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

  // A function that the source calls once, in its next do_plan(): in the middle of the operator's.
  void set_interruption(std::function<void()> interruption) {
    const std::lock_guard lock(mutex_);
    interruption_ = std::move(interruption);
  }
  // Removes it; false if it has been called.
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
  std::unordered_map<uint64_t, uint64_t> unused_;  // indices by ref
};

// The numbers below `size`; those for which fails() holds can't be computed.
struct Script {
  uint64_t size = 0;
  std::string error = {};  // what the plan ends with, if not its end
  uint64_t seed = 0;       // of how many elements come at once, and when it would have to wait

  static bool fails(uint64_t index) { return index % 13 == 7; }
  static Error failure(uint64_t index) {
    return Error({.kind = ErrorKind::corrupted, .reason = "bad " + std::to_string(index)});
  }
};

class ScriptedStage final : public Stage<Value> {
 public:
  ScriptedStage(const Script& script, std::shared_ptr<TicketLedger> ledger, size_t chunk_size)
      : script_(script),
        ledger_(std::move(ledger)),
        chunk_size_(chunk_size),
        random_(script.seed, 0, 0) {}

  size_t do_plan(std::span<Ticket> out, Wait wait) override {
    ledger_->interrupt();
    if (stopped_ || (wait == Wait::no && random_.below(3) == 0)) return 0;
    const uint64_t planned = some_of(out.size());
    for (Ticket& ticket : out.first(planned)) ticket = ticket_of(next_++);
    return planned;
  }

  uint64_t do_advance(uint64_t count) override {
    if (stopped_) return 0;
    const uint64_t passed = some_of(count);
    next_ += passed;
    return passed;
  }

  void do_discard(std::span<const Ticket> tickets) override {
    for (const Ticket& ticket : tickets) ledger_->use(ticket);
  }

  void do_restart(uint64_t epoch) override {
    stopped_ = false;
    epoch_ = epoch;
    next_ = 0;
  }

  uint64_t size() override { return script_.size; }
  void tickets_at(std::span<const uint64_t> places, std::span<Ticket> out) override {
    for (size_t i = 0; i < places.size(); ++i) out[i] = ticket_of(places[i]);
  }

  void save(PlanState& state) const override { state.reset(0).numbers = {next_}; }
  void do_restore(const PlanState& state, uint64_t epoch) override {
    do_restart(epoch);
    next_ = PlanNumbers(state, 0).next(script_.size);
  }

  void do_request_stop() override { stopped_ = true; }

  std::unique_ptr<Producer<Value>> make_producer() override {
    return std::make_unique<ScriptedProducer>(*ledger_);
  }
  bool has_work() const override { return true; }
  size_t chunk_size() const override { return chunk_size_; }

 private:
  class ScriptedProducer final : public Producer<Value> {
   public:
    explicit ScriptedProducer(TicketLedger& ledger) : ledger_(ledger) {}
    Failures produce(std::span<const Ticket> tickets, std::span<Value> out) override {
      Failures failures;
      for (size_t i = 0; i < tickets.size(); ++i) {
        const uint64_t index = ledger_.use(tickets[i]);
        if (Script::fails(index)) {
          failures.push_back({i, std::make_exception_ptr(Script::failure(index))});
        } else {
          out[i] = number_value(static_cast<int64_t>(index));
        }
      }
      return failures;
    }

   private:
    TicketLedger& ledger_;
  };

  // At least 1 of the next `count`, or 0 at the end. Each error has another message.
  uint64_t some_of(uint64_t count) {
    const uint64_t left = std::min(count, script_.size - next_);
    if (left == 0 && !script_.error.empty()) {
      throw std::runtime_error(script_.error + ", error " + std::to_string(++errors_));
    }
    return left == 0 ? 0 : 1 + random_.below(static_cast<uint32_t>(left));
  }

  Ticket ticket_of(uint64_t index) { return {{epoch_, index}, ledger_->issue(index)}; }

  const Script script_;
  const std::shared_ptr<TicketLedger> ledger_;
  const size_t chunk_size_;
  Random random_;
  std::atomic<bool> stopped_ = false;
  uint64_t epoch_ = 0;
  uint64_t next_ = 0;
  uint64_t errors_ = 0;
};

class ScriptedNode final : public Node<Value> {
 public:
  ScriptedNode(Script script, std::shared_ptr<TicketLedger> ledger)
      : script_(std::move(script)), ledger_(std::move(ledger)) {}
  uint64_t random_operators() const override { return 0; }
  std::string sequential_operator() const override { return {}; }
  PlanDescription describe() const override { return {.name = "scripted"}; }

 protected:
  std::unique_ptr<Stage<Value>> build_stage(const StageContext& context) const override {
    return std::make_unique<ScriptedStage>(script_, ledger_, context.chunk_size);
  }

 private:
  Script script_;
  std::shared_ptr<TicketLedger> ledger_;
};

}  // namespace recordpipe
