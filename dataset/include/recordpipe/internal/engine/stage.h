// What an operator is made of: the order of its elements, fixed first, and the work of computing
// them, done later on any thread.
//
// A Dataset is a chain of Nodes (immutable descriptions). Iterating makes a Stage of each Node.
//
//   plan()      one thread at a time, in order: says which elements come next. A Ticket is 24 bytes
//               and names an element before anything is computed, so shuffling, repeating, taking
//               and batching move tickets, not payloads.
//   Producer    any thread, any order: computes the elements of some tickets, a chunk at a time.
//
// A place in the plan can be saved (plan_state.h) and gone back to: a stage either says where it
// stands in a few numbers, or is brought there again by advance().
//
// Since the tickets, and with them the random numbers, are fixed before work is handed out, what a
// pipeline yields can't depend on threads, chunk sizes or time. An operator that must see values to
// decide the order (filter) or that makes its own thread (prefetch) runs what is upstream of it
// through an Executor (executor.h) and hands the values on in a ValueStore (value_store.h).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "recordpipe/internal/engine/plan_state.h"
#include "recordpipe/philox.h"

namespace recordpipe {

class MemoryAccount;

// What an element's random numbers are keyed by: where it came from, not when it is computed.
struct ElementId {
  uint64_t epoch = 0;  // which pass over its source: see nested_epoch
  uint64_t index = 0;  // its place in its source
  bool operator==(const ElementId&) const = default;
};

// The epoch of pass `pass` of something that is itself in epoch `outer`: the number of the pass
// where nothing is repeated around it, and another number for each (outer, pass) otherwise.
constexpr uint64_t nested_epoch(uint64_t outer, uint64_t pass) {
  return outer == 0 ? pass : derive_key(outer, pass);
}

// Where one element becomes several (flat_map, unbatch, interleave), the id of the one at `place`:
// a function of both, so that each draws its own random numbers and none depends on what other
// elements become. The epoch is a 64-bit hash: two of n parents share one with probability below
// n^2 / 2^65.
constexpr ElementId child_id(const ElementId& parent, uint64_t place) {
  return {derive_key(derive_key(parent.epoch, 0x6368696C64), parent.index), place};
}

// The epoch of input number `input` of an operator that has several (concatenate, zip), in epoch
// `outer`: the elements of two inputs have different ids, though they may read the same source.
constexpr uint64_t input_epoch(uint64_t outer, uint64_t input) {
  constexpr uint64_t kNoPass = uint64_t{1} << 63;  // no repeat comes so far
  return derive_key(outer, kNoPass + input);
}

struct Ticket {
  ElementId id;
  uint64_t ref = 0;  // which element, in the terms of the stage that wrote it
};

// What may flow through a pipeline. Values are handed on by swapping, so that their memory is used
// again: default-constructed ones must be cheap. Not bool: the elements of a vector<bool> can't be
// written by several threads.
template <class T>
concept Element = std::default_initializable<T> && std::movable<T> && !std::same_as<T, bool>;

// An element that could not be computed: which of a chunk's, and what was thrown. It has its place
// in the order, its id and its ticket as if it were good, and is passed on as such: it becomes an
// exception where it leaves the pipeline, unless ignore_errors takes it out before.
struct Failure {
  size_t at = 0;
  std::exception_ptr error;
};
using Failures = std::vector<Failure>;  // in the order of the elements; empty as a rule

// Computes elements. Each belongs to one chunk in flight and keeps its scratch memory; several of
// one stage work at the same time.
template <Element T>
class Producer {
 public:
  virtual ~Producer() = default;

  // Computes the elements of `tickets` into `out` (of the same size, holding values that may be
  // overwritten) and returns those that failed, whose values mean nothing. Each ticket is produced
  // once, and one that fails keeps no other from being computed. Doesn't throw what an element's
  // work throws; what it throws ends the pipeline.
  virtual Failures produce(std::span<const Ticket> tickets, std::span<T> out) = 0;

  // The same cut into as many parts as the stage's parts() says, which several threads do at once:
  // begin() with the same arguments as produce, then produce_part() once for each. Only operators
  // whose elements are made of others (batch) have more than one, and then for a single ticket,
  // which fails if one of its parts does.
  virtual void begin(std::span<const Ticket>, std::span<T>) {}
  virtual Failures produce_part(std::span<const Ticket> tickets, std::span<T> out,
                                size_t /*part*/) {
    return produce(tickets, out);
  }
};

// Whether planning may wait for another thread (prefetch's): not when it looks ahead, since what is
// done already would have to wait too.
enum class Wait { no, yes };

template <Element T>
class Stage {
 public:
  virtual ~Stage() = default;

  // These functions enforce the contract for all operators. request_stop() and discard() may be
  // called from any thread at any time; the other functions by one thread at a time.

  // Writes the tickets of the next elements to the start of `out` (not empty) and returns how many:
  // at least 1, or 0 at the end and at every further call. Also 0 after request_stop(), and with
  // Wait::no if it would have to wait. An error is thrown after all elements before it have been
  // returned, and again at every further call until restart() or restore().
  size_t plan(std::span<Ticket> out, Wait wait) {
    size_t planned = 0;
    if (ended_ || stop_requested_) return planned;
    passing_on([&] {
      planned = do_plan(out, wait);
      if (stop_requested_) {
        // An operator cannot tell whether its input ended or was stopped, so this may be a part of
        // a batch.
        discard(out.first(planned));
        planned = 0;
      } else if (planned == 0 && wait == Wait::yes) {
        ended_ = true;
      }
    });
    return planned;
  }

  // Equals planning the next `count` elements with Wait::yes and discarding them, but is faster
  // where possible. Returns how many elements there were: fewer at the end, after request_stop(),
  // and before an error, which the next call throws. If there were `count`, the place can be saved.
  uint64_t advance(uint64_t count) {
    uint64_t passed = 0;
    try {
      while (passed < count && !ended_ && !stop_requested_) {
        uint64_t here = 0;
        passing_on([&] { here = do_advance(count - passed); });
        ended_ = here == 0 && !stop_requested_;
        passed += here;
      }
    } catch (...) {
      if (passed == 0) throw;
    }
    return passed;
  }

  // Gives up tickets that will not be produced. Each ticket is either produced or discarded, once,
  // also after restart() and restore().
  void discard(std::span<const Ticket> tickets) {
    if (!tickets.empty()) do_discard(tickets);
  }

  // Starts again from the first element. Tickets planned before stay good.
  void restart(uint64_t epoch) {
    forget_outcome();
    do_restart(epoch);
  }

  // restart(epoch), and on to the place that `state` was saved at, but for the elements it has
  // passed over: call restore_place(). Throws Error{invalid_argument} where the state is none of
  // this stage. After an error only restart() and restore() may follow.
  void restore(const PlanState& state, uint64_t epoch) {
    forget_outcome();
    passing_on([&] { do_restore(state, epoch); });
  }

  // Makes plan() and advance() return 0 soon, also a call in progress, until restart() or
  // restore().
  void request_stop() {
    stop_requested_ = true;
    do_request_stop();
  }

  // The number of elements of a pass, and the tickets of the elements at `places`, each of which
  // must be below size(); size() must be called first. Neither moves the place of plan(). Only for
  // stages with random access (Node::sequential_operator).
  virtual uint64_t size() { throw std::logic_error("a stage without random access"); }
  virtual void tickets_at(std::span<const uint64_t> /*places*/, std::span<Ticket> /*out*/) {
    throw std::logic_error("a stage without random access");
  }

  // Whether the place between the last planned element and the next can be saved now. Where it
  // can't, planning one more element with Wait::yes brings it to one that can.
  virtual bool can_save() const { return true; }

  // Writes the place after the last ticket that plan() returned. Overwrites everything in `state`,
  // which may be used again.
  virtual void save(PlanState& state) const = 0;

  // The stage outlives its producers.
  virtual std::unique_ptr<Producer<T>> make_producer() = 0;

  // Whether its producers are just its input's.
  virtual bool hands_work_through() const { return false; }

  // Called once, before all else: what the stage itself holds of elements is to be charged to
  // `account`. What is in chunks is charged by those who have the chunks.
  virtual void charge_to(const std::shared_ptr<MemoryAccount>& /*account*/) {}

  // Whether producing costs enough to be worth another thread.
  virtual bool has_work() const = 0;

  // How many elements make a chunk worth handing to a thread, at least 1.
  virtual size_t chunk_size() const = 0;

  // Into how many parts the work of a chunk of these tickets is cut (see Producer::begin).
  virtual size_t parts(std::span<const Ticket> /*tickets*/) { return 1; }

 protected:
  // The operator's part of the function of the same name. None of them is called after an error,
  // at the end, or for zero elements.

  // Returns at least 1, or 0 at the end, if it would have to wait, or if it was stopped. Throws
  // only if it has nothing to return.
  virtual size_t do_plan(std::span<Ticket> out, Wait wait) = 0;

  // Likewise. May pass over fewer than `count`. By default plans and discards some elements.
  virtual uint64_t do_advance(uint64_t count) {
    std::array<Ticket, 256> unwanted;
    const auto wanted = static_cast<size_t>(std::min<uint64_t>(unwanted.size(), count));
    const size_t planned = do_plan(std::span(unwanted).first(wanted), Wait::yes);
    discard(std::span(unwanted).first(planned));
    return planned;
  }

  // Runs while other threads plan, produce and discard: a batch that fails discards its rows'
  // tickets on the worker that produced it. So it may only use constants, guarded members
  // (ValueStore) and its own locals, and passes the input's tickets to the input's discard().
  virtual void do_discard(std::span<const Ticket> tickets) = 0;

  virtual void do_restart(uint64_t epoch) = 0;
  virtual void do_restore(const PlanState& state, uint64_t epoch) = 0;
  virtual void do_request_stop() = 0;

  bool stop_requested() const { return stop_requested_; }

 private:
  // Calls `work` unless there was an error, and keeps the error that it throws.
  template <class Work>
  void passing_on(Work work) {
    if (error_) std::rethrow_exception(error_);
    try {
      work();
    } catch (...) {
      error_ = std::current_exception();
      throw;
    }
  }

  void forget_outcome() {
    error_ = nullptr;
    ended_ = false;
    stop_requested_ = false;
  }

  std::exception_ptr error_;
  bool ended_ = false;
  std::atomic<bool> stop_requested_ = false;
};

// A Stage that changes the order of its input's elements, but not the elements: tickets pass
// through it, and so does the work.
template <Element T>
class OrderStage : public Stage<T> {
 public:
  explicit OrderStage(std::unique_ptr<Stage<T>> upstream) : upstream_(std::move(upstream)) {}
  void do_discard(std::span<const Ticket> tickets) override { upstream_->discard(tickets); }
  void do_request_stop() override { upstream_->request_stop(); }
  std::unique_ptr<Producer<T>> make_producer() override { return upstream_->make_producer(); }
  bool hands_work_through() const override { return true; }
  bool can_save() const override { return upstream_->can_save(); }
  bool has_work() const override { return upstream_->has_work(); }
  size_t chunk_size() const override { return upstream_->chunk_size(); }
  size_t parts(std::span<const Ticket> tickets) override { return upstream_->parts(tickets); }

 protected:
  Stage<T>& upstream() { return *upstream_; }
  const Stage<T>& upstream() const { return *upstream_; }

 private:
  std::unique_ptr<Stage<T>> upstream_;
};

}  // namespace recordpipe
