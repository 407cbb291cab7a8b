// Determines the order of a pipeline's elements before any element is computed.
//
// A plan writes tickets (ticket.h), in order, on one thread at a time; producers (producer.h) later
// compute the elements of tickets, on any thread. So the order and the random numbers of a pipeline
// can't depend on threads, chunk sizes or time. Plans don't know the types of elements.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "dataset/pipeline/execute/memory_account.h"
#include "dataset/pipeline/plan/epoch.h"
#include "dataset/pipeline/state/plan_state.h"
#include "recordpipe/pipeline/internal/ticket.h"

namespace recordpipe::internal {

class StageMonitor;

// Whether planning may wait for another thread (prefetch's thread). Planning ahead must not wait:
// otherwise, elements that are already computed would wait, too.
enum class Wait { no, yes };

// Why a call returned fewer elements than requested.
enum class Stop {
  none,        // ask again: there may be more elements, or an error follows
  would_wait,  // ask again, with Wait::yes
  requested,   // request_stop() was called
  end,         // no more elements, until restart or restore
};

struct Planned {
  uint64_t count = 0;
  Stop stop = Stop::none;
};

// Collects the tickets that do_plan() writes.
class TicketSink {
 public:
  explicit TicketSink(std::span<Ticket> room) : room_(room) {}
  bool is_full() const { return count_ == room_.size(); }
  size_t count() const { return count_; }
  // The unused part. After writing tickets to it directly, call take().
  std::span<Ticket> room() const { return room_.subspan(count_); }
  void take(size_t count) { count_ += count; }
  void push(const Ticket& ticket) { room_[count_++] = ticket; }

 private:
  std::span<Ticket> room_;
  size_t count_ = 0;
};

// The contract, kept by this class for every operator:
//
//   1. plan() and advance() return the number of elements and the reason why there were no more.
//      Only the end is sticky.
//   2. An error comes after the elements before it: the tickets that do_plan() wrote before it
//      threw are returned; the next call and each later call throw the error, until restart or
//      restore.
//   3. advance(n) equals planning n elements and discarding them, errors included. An operator
//      never sees n = 0.
//   4. Each ticket is produced or discarded exactly once, also after a restart.
//   5. discard() and request_stop() may be called by any thread at any time; the other functions by
//      one thread at a time. Nothing is planned after request_stop(), until restart or restore.
//   6. save() saves the position after the last element that plan() or advance() has returned.
//   7. size() and tickets_at() don't change this position.
class Plan {
 public:
  Plan() = default;
  virtual ~Plan() = default;
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  // Must be called first. The memory that the plan holds is charged to `account`, which throws if
  // the limit is exceeded; `monitor`, unless null, counts time and elements. Operators without a
  // plan of their own (map) add further monitors, which count elements only.
  void observe(const std::shared_ptr<MemoryAccount>& account, StageMonitor* monitor);

  // Writes the tickets of the next elements to the start of `out`, which is not empty. It may
  // return fewer than fit without a reason (Stop::none), but zero only with a reason.
  Planned plan(std::span<Ticket> out, Wait wait);

  // Skips the next `count` elements; fewer only with a reason, or before an error. It may wait, so
  // a do_plan(Wait::no) must not call it. If all `count` elements were skipped, the position can be
  // saved.
  Planned advance(uint64_t count);

  // Discards tickets that will not be produced.
  virtual void discard(std::span<const Ticket> tickets) = 0;

  // Starts again from the first element.
  void restart(Epoch epoch);

  // Whether the current position can be saved. If not, planning one more element with Wait::yes
  // leads to a position that can be saved.
  virtual bool can_save() const { return true; }
  // `state` may be reused for another position: it is overwritten completely.
  virtual void save(PlanState& state) const = 0;
  // Like restart(epoch), then moves to the saved position, but doesn't skip the state.passed_over
  // elements: use restore_place(), which does. Throws Error{invalid_argument} if the state is not a
  // state of this plan. After an error, only restart() and restore() may follow.
  void restore(const PlanState& state, Epoch epoch);

  // Makes plan() return soon, because the elements are no longer needed. Undone by restart() and
  // restore().
  void request_stop();

  // The number of elements of a pass, and the tickets of the elements at `places`, each less than
  // size(). Only for nodes with random access (Node::sequential_operator).
  virtual uint64_t size();
  void tickets_at(std::span<const uint64_t> places, std::span<Ticket> out);

 protected:
  // Writes at least one ticket, or returns the reason why it didn't.
  virtual Stop do_plan(TicketSink& out, Wait wait) = 0;
  // Skips up to `count` > 0 elements. As it proceeds, it adds their number to `passed`, which is 0
  // at first.
  virtual Stop do_advance(uint64_t count, uint64_t& passed);
  virtual void do_restart(Epoch epoch) = 0;
  virtual void do_restore(const PlanState& state, Epoch epoch) = 0;
  // From any thread.
  virtual void do_request_stop() {}
  virtual void do_tickets_at(std::span<const uint64_t> places, std::span<Ticket> out);
  virtual void charge_to(const std::shared_ptr<MemoryAccount>& /*account*/) {}

  // From any thread.
  bool is_stopping() const { return stopping_; }
  // For an operator that produces nothing more until restart().
  Stop end_or_stop() const { return is_stopping() ? Stop::requested : Stop::end; }

 private:
  StageMonitor* monitor() const { return monitors_.empty() ? nullptr : monitors_.front(); }
  void count(uint64_t elements);
  Stop plan_some(TicketSink& out, Wait wait);
  template <class Work, class Done>
  Planned attempt(const Work& work, const Done& done);
  void forget();

  std::shared_ptr<MemoryAccount> account_;
  std::vector<StageMonitor*> monitors_;  // the operator's own first
  std::atomic<bool> stopping_ = false;
  bool ended_ = false;
  std::exception_ptr error_;
};

// Skips `count` elements of `plan`, or returns the reason why there were fewer.
Stop advance_all(Plan& plan, uint64_t count, uint64_t& passed);

// Moves a plan to a saved position; throws Error{invalid_argument} if it can't be reached.
void restore_place(Plan& plan, const PlanState& state, Epoch epoch);

// A plan that reorders its input's elements without changing them: tickets pass through it.
class OrderPlan : public Plan {
 public:
  explicit OrderPlan(std::unique_ptr<Plan> input) : input_(std::move(input)) {}
  void discard(std::span<const Ticket> tickets) override { input_->discard(tickets); }
  bool can_save() const override { return input_->can_save(); }

 protected:
  void do_request_stop() override { input_->request_stop(); }
  Plan& input() { return *input_; }
  const Plan& input() const { return *input_; }

 private:
  std::unique_ptr<Plan> input_;
};

}  // namespace recordpipe::internal
