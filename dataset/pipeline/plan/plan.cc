// Implements the part of the Plan contract that is common to all operators.
#include "dataset/pipeline/plan/plan.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "dataset/pipeline/observe/stage_monitor.h"
#include "recordpipe/base/error.h"

namespace recordpipe::internal {

void Plan::observe(const std::shared_ptr<MemoryAccount>& account, StageMonitor* monitor) {
  if (monitor) monitors_.push_back(monitor);
  if (std::exchange(account_, account) != nullptr) return;
  charge_to(account);
}

void Plan::count(uint64_t elements) {
  for (StageMonitor* monitor : monitors_) monitor->add_elements(elements);
}

// Runs work() if neither an error, the end nor a stop came before, and keeps its error for later
// calls. done() returns the number of elements so far.
template <class Work, class Done>
Planned Plan::attempt(const Work& work, const Done& done) {
  if (error_) std::rethrow_exception(error_);
  if (ended_) return {0, Stop::end};
  if (is_stopping()) return {0, Stop::requested};
  const ActivityScope scope(monitor(), Activity::planning);
  Stop stop = Stop::none;
  try {
    // If the pipeline is far above the memory limit, planning fails: an operator that gathers
    // elements would otherwise take any number of them before the next check.
    if (account_) account_->check_total();
    stop = work();
    ended_ = stop == Stop::end;
  } catch (...) {
    error_ = std::current_exception();
    if (done() == 0) throw;
  }
  return {done(), stop};
}

// An operator may return the elements it has, with would_wait, instead of waiting for more. A
// caller that allows waiting must not see this as a reason to stop.
Stop Plan::plan_some(TicketSink& out, Wait wait) {
  const Stop stop = do_plan(out, wait);
  return stop == Stop::would_wait && wait == Wait::yes ? Stop::none : stop;
}

Planned Plan::plan(std::span<Ticket> out, Wait wait) {
  TicketSink sink(out);
  const Planned planned =
      attempt([&] { return plan_some(sink, wait); }, [&] { return sink.count(); });
  count(planned.count);
  return planned;
}

Planned Plan::advance(uint64_t count) {
  if (count == 0) return {};
  uint64_t passed = 0;
  uint64_t here = 0;  // counted by the current do_advance()
  const auto pass = [&] {
    Stop stop = Stop::none;
    while (passed < count && stop == Stop::none) {
      stop = do_advance(count - passed, here);
      passed += std::exchange(here, 0);
      if (is_stopping()) stop = Stop::requested;
    }
    return stop;
  };
  return attempt(pass, [&] { return passed + here; });
}

Stop Plan::do_advance(uint64_t count, uint64_t& passed) {
  std::array<Ticket, 256> unwanted;
  while (passed < count) {
    if (is_stopping()) return Stop::requested;
    const auto wanted = static_cast<size_t>(std::min<uint64_t>(unwanted.size(), count - passed));
    TicketSink sink({unwanted.data(), wanted});
    Stop stop;
    try {
      stop = plan_some(sink, Wait::yes);
    } catch (...) {
      discard(std::span(unwanted).first(sink.count()));
      passed += sink.count();
      throw;
    }
    discard(std::span(unwanted).first(sink.count()));
    passed += sink.count();
    if (stop != Stop::none) return stop;
  }
  return Stop::none;
}

void Plan::forget() {
  stopping_ = false;
  ended_ = false;
  error_ = nullptr;
}

void Plan::restart(Epoch epoch) {
  forget();
  do_restart(epoch);
}

void Plan::restore(const PlanState& state, Epoch epoch) {
  forget();
  try {
    do_restore(state, epoch);
  } catch (...) {
    error_ = std::current_exception();
    throw;
  }
}

void Plan::request_stop() {
  stopping_ = true;
  do_request_stop();
}

uint64_t Plan::size() { throw std::logic_error("a plan without random access"); }

void Plan::do_tickets_at(std::span<const uint64_t>, std::span<Ticket>) {
  throw std::logic_error("a plan without random access");
}

void Plan::tickets_at(std::span<const uint64_t> places, std::span<Ticket> out) {
  const ActivityScope scope(monitor(), Activity::planning);
  do_tickets_at(places, out);
  count(places.size());
}

Stop advance_all(Plan& plan, uint64_t count, uint64_t& passed) {
  const uint64_t target = passed + count;
  while (passed < target) {
    const Planned planned = plan.advance(target - passed);
    passed += planned.count;
    if (planned.stop != Stop::none) return planned.stop;
  }
  return Stop::none;
}

void fail_state() {
  throw Error({.kind = ErrorKind::invalid_argument,
               .reason = "the saved state does not fit this pipeline's operators",
               .hint = "restore it into the pipeline it was saved from"});
}

void restore_place(Plan& plan, const PlanState& state, Epoch epoch) {
  plan.restore(state, epoch);
  uint64_t passed = 0;
  try {
    advance_all(plan, state.passed_over, passed);
  } catch (...) {
    // The position is in a shard's last group, which an error has cut short: it comes next.
    if (!state.is_reached(passed)) throw;
  }
  if (!state.is_reached(passed)) fail_state();
}

}  // namespace recordpipe::internal
