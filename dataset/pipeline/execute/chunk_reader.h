// Reads the elements of an executor one by one, for operators that must see values to know what
// comes next.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <utility>

#include "dataset/pipeline/execute/executor.h"
#include "dataset/pipeline/state/plan_state.h"
#include "recordpipe/pipeline/internal/element_ops.h"
#include "recordpipe/pipeline/internal/ticket.h"

namespace recordpipe::internal {

class ChunkReader {
 public:
  ChunkReader(Stage stage, const StageContext& context) : executor_(std::move(stage), context) {}

  // Waits for the next chunk if no element is at hand. Returns false at the end and after a request
  // to stop. Throws the plan's errors.
  bool fetch();
  bool is_at_hand() const { return at_ < chunk_.size(); }
  size_t count_at_hand() const { return chunk_.size() - at_; }

  // The whole chunk; its elements from place() on are at hand. failures() returns their failures.
  const Chunk& chunk() const { return chunk_; }
  size_t place() const { return at_; }
  std::span<Failure> failures() const { return chunk_.failures.subspan(next_failure_); }

  // The id of the next element, or of the one `behind` positions after it; it must be at hand.
  const ElementId& id(size_t behind = 0) const { return chunk_.tickets[at_ + behind].id; }
  // The value of the next element; the values of all elements at hand are an array.
  void* value() const { return chunk_.value(at_); }
  // The next element's error; null if it was computed. May be called once per element.
  std::exception_ptr take_error() const {
    const bool is_failed =
        next_failure_ < chunk_.failures.size() && chunk_.failures[next_failure_].at == at_;
    return is_failed ? std::move(chunk_.failures[next_failure_].error) : nullptr;
  }
  // The errors of the next `count` elements; Failure::at counts from the next element. May be
  // called once per element.
  Failures take_failures(size_t count) const;
  void pass(size_t count = 1) {
    const std::span<const Failure> failures = chunk_.failures;
    const size_t at = at_ + count;
    size_t next = next_failure_;
    while (next < failures.size() && failures[next].at < at) ++next;
    at_ = at;
    next_failure_ = next;
  }

  // The position of the next element, counted from the last restart, or from the restored state.
  uint64_t position() const { return executor_.position() + at_; }
  // Saves the state before element `position`; no later position may have been released.
  void save(uint64_t position, PlanState& state) const { executor_.save(position, state); }
  void save(PlanState& state) const { save(position(), state); }
  void release(uint64_t position) { executor_.release(position); }
  // Keeps positions until release() is called. By default, fetch() releases the positions before
  // the current chunk.
  void keep_places() { keeps_places_ = true; }

  void restart(Epoch epoch);
  void restore(const PlanState& state, Epoch epoch);
  Stop advance(uint64_t count, uint64_t& passed);
  void request_stop() { executor_.request_stop(); }

  const ElementOps& element() const { return executor_.element(); }
  size_t chunk_size() const { return executor_.chunk_size(); }

 private:
  void forget();

  Executor executor_;
  Chunk chunk_;
  size_t at_ = 0;
  size_t next_failure_ = 0;  // index of the chunk's first failure that is not before at_
  bool keeps_places_ = false;
};

}  // namespace recordpipe::internal
