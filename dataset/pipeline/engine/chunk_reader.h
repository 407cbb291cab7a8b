// Reads an executor element by element: what operators have in common that must see values to know
// what comes next.
#pragma once

#include <cstdint>
#include <exception>
#include <utility>

#include "dataset/pipeline/engine/executor.h"
#include "dataset/pipeline/engine/plan_state.h"
#include "dataset/pipeline/engine/value_store.h"

namespace recordpipe::internal {

class ChunkReader {
 public:
  ChunkReader(Stage stage, const StageContext& context) : executor_(std::move(stage), context) {}

  // Whether there is an element at hand; if not, waits for the next chunk. False at the end and
  // when it is to stop. Throws what the planning threw.
  bool fetch();
  bool is_at_hand() const { return at_ < chunk_.size(); }
  size_t count_at_hand() const { return chunk_.size() - at_; }

  // The next element, which is at hand.
  const ElementId& id() const { return chunk_.tickets[at_].id; }
  void* value() const { return chunk_.value(at_); }
  // Null where it was computed; only once.
  std::exception_ptr take_error() const { return chunk_.take_error_at(at_); }
  // filter doesn't want it.
  bool is_dropped() const {
    const Failure* const failure = chunk_.failure_at(at_);
    return failure && !failure->error;
  }
  // Keeps its value, or its error.
  uint64_t keep_in(ValueStore& store) const {
    std::exception_ptr error = take_error();
    return error ? store.put_failure(std::move(error)) : store.put(value());
  }
  void pass() { ++at_; }

  // Of the next element: counted from the last restart, or from the state that was restored.
  uint64_t position() const { return executor_.position() + at_; }
  // The place before element `position`, if no later one was released.
  void save(uint64_t position, PlanState& state) const { executor_.save(position, state); }
  void save(PlanState& state) const { save(position(), state); }
  void release(uint64_t position) { executor_.release(position); }
  // By default places before the chunk at hand will not be saved any more.
  void keep_places() { keeps_places_ = true; }

  void restart(uint64_t epoch);
  void restore(const PlanState& state, uint64_t epoch);
  Stop advance(uint64_t count, uint64_t& passed);
  void request_stop() { executor_.request_stop(); }

  std::shared_ptr<const Stage> stage() const { return executor_.stage(); }
  const ElementOps& element() const { return executor_.element(); }
  size_t chunk_size() const { return executor_.chunk_size(); }

 private:
  void forget();

  Executor executor_;
  Chunk chunk_;
  size_t at_ = 0;
  bool keeps_places_ = false;
};

}  // namespace recordpipe::internal
