// One input of interleave while it is open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "recordpipe/internal/engine/executor.h"
#include "recordpipe/internal/engine/memory_account.h"
#include "recordpipe/internal/engine/node.h"
#include "recordpipe/internal/engine/plan_state.h"
#include "recordpipe/internal/engine/stage.h"
#include "recordpipe/internal/engine/stage_context.h"
#include "recordpipe/internal/engine/task_queue.h"
#include "recordpipe/internal/engine/value_store.h"
#include "recordpipe/internal/operators/keep_alive.h"

namespace recordpipe {

// The Dataset that an element of interleave's own input opened, run by an Executor of its own. Some
// elements are handed out while a task fetches the next; all of them are in the stage's store.
template <Element U>
class OpenInput final : private TaskQueue::Task {
 public:
  using Input = std::shared_ptr<const Node<U>>;

  // Starts a first pass. `id` is that of the element that opened it, `position` its number, and
  // `opened_at` the state of the input that it came from, there. A fetch gets `fetch_size` elements
  // or more, unless they are large.
  OpenInput(Input node, const StageContext& context, const ElementId& id, uint64_t position,
            PlanState opened_at, size_t fetch_size, ValueStore<U>& store, TaskQueue& queue)
      : id_(id),
        position_(position),
        opened_at_(std::move(opened_at)),
        fetch_size_(fetch_size),
        memory_(context.memory),
        store_(store),
        queue_(queue),
        source_(std::make_shared<Source>(Source{node, node->make_stage(context)})),
        executor_(source_->stage, context) {
    executor_.restart(epoch());
  }

  ~OpenInput() override {
    executor_.request_stop();
    queue_.cancel(*this);
    store_.discard(std::span(ready_).subspan(at_));
    store_.discard(fetched_);
  }
  OpenInput(const OpenInput&) = delete;
  OpenInput& operator=(const OpenInput&) = delete;

  const ElementId& id() const { return id_; }
  uint64_t position() const { return position_; }
  const PlanState& opened_at() const { return opened_at_; }

  // Of its first pass: derived from the id.
  uint64_t epoch() const { return child_id(id_, 0).epoch; }

  // Whether the next element is here already.
  bool has_next() const { return at_ < ready_.size(); }
  // Fetches what comes after the elements that are here, on the pool.
  void read_ahead() {
    if (!std::exchange(reads_ahead_, true)) queue_.start(*this);
  }
  // Brings the next element here; false at the end. Throws what the planning throws, once: that is
  // the end, too.
  bool fetch() {
    if (has_next()) return true;
    if (failed_) return false;
    executor_.release(taken_);
    reads_ahead_ = false;
    ready_.clear();
    at_ = 0;
    std::exception_ptr error;
    queue_.wait(*this, [&] {
      ready_.swap(fetched_);
      if (ready_.empty()) error = std::exchange(error_, nullptr);
      return has_next() || has_ended_;
    });
    if (!error) return has_next();
    failed_ = true;
    std::rethrow_exception(error);
  }
  // The next element, once it is here.
  Ticket take() {
    ++taken_;
    return ready_[at_++];
  }

  // From any thread.
  void request_stop() { executor_.request_stop(); }

  // Where it stands. Restored before anything is fetched.
  bool has_failed() const { return failed_; }
  void save(PlanState& state) const { executor_.save(taken_, state); }
  void restore(const PlanState& state, bool failed) {
    failed_ = failed;
    restore_place(executor_, state, epoch());
    taken_ = executor_.position();
  }

 private:
  // What elements may point into.
  struct Source {
    Input node;
    std::shared_ptr<Stage<U>> stage;
  };

  // Fetches one chunk; ahead of time several small ones.
  void run(bool is_needed) noexcept override {
    const size_t wanted = is_needed || memory_->is_limited() ? 1 : fetch_size_;
    size_t fetched = 0;
    uint64_t bytes = 0;
    if (has_ended_) return;
    try {
      while (fetched < wanted && bytes < kMostBytes) {
        const auto chunk = executor_.next_with_failures();
        if (chunk.empty()) return end(nullptr);
        fetched += chunk.size();
        bytes += bytes_of(std::span<const U>(chunk.values));
        keep(chunk);
      }
    } catch (...) {
      end(std::current_exception());
    }
  }

  // Behind what was fetched.
  void end(std::exception_ptr error) {
    queue_.hand_over([&] {
      has_ended_ = true;
      error_ = std::move(error);
    });
  }

  void keep(const typename Executor<U>::Chunk& chunk) {
    for (U& value : chunk.values) keep_alive(value, source_);
    std::vector<Ticket> tickets = store_.put_chunk(chunk);
    // Not the same ids as within the input: operators there have drawn for those.
    for (Ticket& ticket : tickets) ticket.id.epoch = derive_key(ticket.id.epoch, kHandedOn);
    queue_.hand_over([&] { fetched_.insert(fetched_.end(), tickets.begin(), tickets.end()); });
  }

  static constexpr uint64_t kHandedOn = 0x696E707574;
  static constexpr uint64_t kMostBytes = uint64_t{1} << 20;

  const ElementId id_;
  const uint64_t position_;
  const PlanState opened_at_;
  const size_t fetch_size_;
  const std::shared_ptr<MemoryAccount> memory_;
  ValueStore<U>& store_;
  TaskQueue& queue_;
  const std::shared_ptr<Source> source_;
  std::vector<Ticket> ready_;
  size_t at_ = 0;       // in ready_
  uint64_t taken_ = 0;  // elements, since the executor's start
  bool reads_ahead_ = false;
  bool failed_ = false;  // it has ended with an error
  // The task's, while it runs.
  Executor<U> executor_;
  // Handed over by the task.
  std::vector<Ticket> fetched_;
  bool has_ended_ = false;
  std::exception_ptr error_;
};

}  // namespace recordpipe
