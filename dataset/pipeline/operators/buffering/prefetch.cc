// prefetch: a separate thread that keeps finished elements ready.
//
// Keeps the order. Affects timing only, so it is not part of the plan: a state can be restored
// without prefetch, or with another depth. No random access. Saved state: the input's position at
// the next element to be returned, however far the thread has read ahead.
#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>

#include "dataset/base/require.h"
#include "dataset/parallel/service_thread.h"
#include "dataset/pipeline/execute/executor.h"
#include "dataset/pipeline/execute/ring_buffer.h"
#include "dataset/pipeline/execute/value_store.h"
#include "dataset/pipeline/observe/stage_monitor.h"
#include "dataset/pipeline/operators/buffering/prefetch_depth.h"
#include "dataset/pipeline/plan/node.h"
#include "recordpipe/pipeline/internal/operators.h"

namespace recordpipe::internal {
namespace {

// The thread runs the upstream operators through an Executor and pauses when `depth` elements are
// ready; the consumer waits only if no element is ready. The thread isn't the crew's, so it may
// wait for the crew.
class PrefetchPlan final : public StorePlan {
 public:
  PrefetchPlan(std::shared_ptr<ValueStore> store, Stage input, size_t depth,
               const StageContext& context)
      : StorePlan(std::move(store)),
        depth_(depth),
        memory_(context.memory),
        monitor_(context.stage),
        executor_(std::move(input), context) {}

  ~PrefetchPlan() override { stop(); }

  // Saves the upstream position of the next element: the same with any buffer size, and without
  // prefetch.
  void save(PlanState& state) const override { executor_.save(handed_on_, state); }

 protected:
  Stop do_plan(TicketSink& out, Wait wait) override {
    if (!thread_.joinable()) start();
    std::unique_lock lock(mutex_);
    if (wait == Wait::no && ready_.empty() && !ended_) return Stop::would_wait;
    if (ready_.empty() && !ended_ && !is_stopping()) {
      const ActivityScope scope(monitor_ ? monitor_->consumer() : nullptr,
                                Activity::waiting_for_input);
      const auto begin = PrefetchDepth::Clock::now();
      changed_.wait(lock, [&] { return !ready_.empty() || ended_ || is_stopping(); });
      const auto end = PrefetchDepth::Clock::now();
      depth_.waited_for_element(end - begin, end);
    }
    if (is_stopping()) return Stop::requested;
    if (ready_.empty()) {
      if (error_) std::rethrow_exception(error_);
      return Stop::end;
    }
    for (; !out.is_full() && !ready_.empty(); ready_.pop_front(), ++handed_on_) {
      out.push(ready_.front());
    }
    changed_.notify_all();
    executor_.release(handed_on_);
    return Stop::none;
  }

  Stop do_advance(uint64_t count, uint64_t& passed) override {
    if (thread_.joinable()) return Plan::do_advance(count, passed);
    try {
      const Stop stop = executor_.advance(count, passed);
      handed_on_ = executor_.position();
      return stop;
    } catch (...) {
      handed_on_ = executor_.position();
      throw;
    }
  }

  void do_restart(Epoch epoch) override {
    reset();
    executor_.restart(epoch);
  }

  void do_restore(const PlanState& state, Epoch epoch) override {
    reset();
    PlanState place = state;
    place.passed_over = 0;  // restore_place() skips these elements here
    executor_.restore(place, epoch);
  }

  void do_request_stop() override {
    executor_.request_stop();
    const std::lock_guard lock(mutex_);
    thread_stops_ = true;
    changed_.notify_all();
  }

 private:
  void start() {
    depth_.start(PrefetchDepth::Clock::now());
    thread_ = parallel::ServiceThread("rp-prefetch", [this](const std::stop_token&) { fetch(); });
  }

  // One element is always kept ready, whatever memory it takes; more only if the next chunk fits.
  bool has_room() {
    return ready_.empty() ||
           (ready_.size() < depth_.depth() && memory_->has_room_for(executor_.largest_chunk()));
  }

  void fetch() {
    if (monitor_) monitor_->name_thread("prefetch");
    std::exception_ptr error;
    try {
      while (fetch_chunk()) {
      }
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    error_ = error;
    ended_ = true;
    changed_.notify_all();
  }

  // Returns false at the end, or after a request to stop.
  bool fetch_chunk() {
    const Chunk chunk = executor_.next_with_failures();
    for (size_t i = 0; i < chunk.size(); ++i) {
      std::unique_lock lock(mutex_);
      if (!has_room() && !thread_stops_) {
        const ActivityScope scope(monitor_, Activity::waiting_for_room);
        const auto begin = PrefetchDepth::Clock::now();
        changed_.wait(lock, [&] { return has_room() || thread_stops_; });
        depth_.waited_for_room(PrefetchDepth::Clock::now() - begin);
      }
      if (thread_stops_) return false;
      std::exception_ptr error = chunk.take_error_at(i);
      ready_.push_back({chunk.tickets[i].id, error ? store().put_failure(std::move(error))
                                                   : store().put(chunk.value(i))});
      changed_.notify_all();
    }
    return !chunk.empty();
  }

  void reset() {
    stop();
    for (; !ready_.empty(); ready_.pop_front()) discard({&ready_.front(), 1});
    const std::lock_guard lock(mutex_);  // request_stop() may come at any time
    ended_ = thread_stops_ = false;
    error_ = nullptr;
    handed_on_ = 0;
  }

  void stop() {
    if (!thread_.joinable()) return;
    do_request_stop();
    thread_.join();
  }

  PrefetchDepth depth_;  // guarded by mutex_, like ready_ and the state of the thread
  const std::shared_ptr<MemoryAccount> memory_;
  StageMonitor* const monitor_;
  Executor executor_;  // used by the thread while it runs
  std::mutex mutex_;
  std::condition_variable changed_;
  RingBuffer<Ticket> ready_;
  uint64_t handed_on_ = 0;  // number of elements
  bool ended_ = false;
  bool thread_stops_ = false;
  std::exception_ptr error_;
  parallel::ServiceThread thread_;
};

class PrefetchNode final : public UnaryNode {
 public:
  PrefetchNode(NodePtr input, size_t depth) : UnaryNode(std::move(input)), depth_(depth) {}
  Cardinality cardinality() const override { return input().cardinality(); }

 protected:
  PlanDescription describe_operator() const override {
    PlanDescription plan{"prefetch", {{"buffer_size", describe_depth()}}};
    plan.is_free = true;
    return plan;
  }
  Stage build_stage(const StageContext& context) const override {
    Stage stage = input().make_stage(context);
    const size_t chunk_size = std::min(stage.chunk_size, PrefetchDepth(depth_).max());
    return make_store_stage<PrefetchPlan>(element(), chunk_size, std::move(stage), depth_, context);
  }

 private:
  std::string describe_depth() const {
    return depth_ == kAutotune ? "auto" : std::to_string(depth_);
  }

  size_t depth_;
};

}  // namespace

NodePtr prefetch(NodePtr input, size_t buffer_size) {
  require(buffer_size > 0, "prefetch: buffer_size must be at least 1");
  return std::make_shared<PrefetchNode>(std::move(input), buffer_size);
}

}  // namespace recordpipe::internal
