// Measures the time of each operator while it runs.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "recordpipe/pipeline/chrome_trace.h"
#include "recordpipe/pipeline/statistics.h"

namespace recordpipe::internal {

enum class Activity { planning, computing, waiting_for_input, waiting_for_room };

// The counters of one operator. Thread-safe.
class StageMonitor {
 public:
  using Clock = std::chrono::steady_clock;

  StageMonitor(std::string name, StageMonitor* consumer, ChromeTrace* trace);

  void add_elements(uint64_t count) { elements_.fetch_add(count, std::memory_order_relaxed); }
  void add(Activity activity, Clock::duration time) {
    const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
    nanoseconds_[static_cast<size_t>(activity)].fetch_add(nanoseconds, std::memory_order_relaxed);
  }
  // Writes the whole duration to the timeline, if there is one, including nested activities of
  // other operators.
  void trace(Activity activity, Clock::time_point begin, Clock::time_point end);
  void name_thread(std::string_view text);

  // The operator that consumes the elements; null for the iterator itself.
  StageMonitor* consumer() const { return consumer_; }
  StageStatistics statistics() const;

 private:
  const std::string name_;
  StageMonitor* const consumer_;
  ChromeTrace* const trace_;
  ChromeTrace::Name event_ = 0;
  std::array<ChromeTrace::Name, 4> categories_ = {};
  std::atomic<uint64_t> elements_{0};
  std::array<std::atomic<int64_t>, 4> nanoseconds_ = {};
};

// Counts the calling thread's time during the scope's lifetime as `activity` of `stage` (null: not
// counted). The time of a nested scope counts for the inner scope only.
class ActivityScope {
 public:
  ActivityScope(StageMonitor* stage, Activity activity) : stage_(stage), activity_(activity) {
    if (!stage_) return;
    outer_ = std::exchange(innermost_, this);
    begin_ = StageMonitor::Clock::now();
  }
  ~ActivityScope() {
    if (!stage_) return;
    const auto end = StageMonitor::Clock::now();
    innermost_ = outer_;
    if (outer_) outer_->inside_ += end - begin_;
    stage_->add(activity_, end - begin_ - inside_);
    stage_->trace(activity_, begin_, end);
  }
  ActivityScope(const ActivityScope&) = delete;
  ActivityScope& operator=(const ActivityScope&) = delete;

 private:
  inline static thread_local ActivityScope* innermost_ = nullptr;

  StageMonitor* const stage_;
  const Activity activity_;
  ActivityScope* outer_ = nullptr;
  StageMonitor::Clock::time_point begin_;
  StageMonitor::Clock::duration inside_{0};
};

// Measures the operators of one iteration. Stages must be added before the iteration starts; all
// other functions are thread-safe.
class PipelineMonitor {
 public:
  explicit PipelineMonitor(size_t threads, std::shared_ptr<ChromeTrace> trace = nullptr);

  StageMonitor& consumer() { return stages_.front(); }
  StageMonitor& add(std::string name, StageMonitor& consumer);

  // Called when the consumer begins to wait for elements, and when it has received them.
  void asked();
  void answered(size_t elements);

  PipelineStatistics statistics() const;

 private:
  using Clock = StageMonitor::Clock;

  void append(const StageMonitor& stage, size_t depth, PipelineStatistics& to) const;

  const size_t threads_;
  const std::shared_ptr<ChromeTrace> trace_;
  std::deque<StageMonitor> stages_;      // each after its consumer
  std::atomic<int64_t> first_asked_{0};  // ticks of Clock; 0: never
  std::atomic<int64_t> last_answered_{0};
};

}  // namespace recordpipe::internal
