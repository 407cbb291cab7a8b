// Writes the timeline, and converts counters to statistics.
#include "dataset/pipeline/observe/stage_monitor.h"

#include <algorithm>
#include <vector>

namespace recordpipe::internal {
namespace {

constexpr std::array<const char*, 4> kActivities = {"planning", "computing", "waiting for input",
                                                    "waiting for room"};

}  // namespace

StageMonitor::StageMonitor(std::string name, StageMonitor* consumer, ChromeTrace* trace)
    : name_(std::move(name)), consumer_(consumer), trace_(trace) {
  if (!trace_) return;
  event_ = trace_->name(name_);
  for (size_t i = 0; i < kActivities.size(); ++i) categories_[i] = trace_->name(kActivities[i]);
}

void StageMonitor::trace(Activity activity, Clock::time_point begin, Clock::time_point end) {
  if (trace_) trace_->add(event_, categories_[static_cast<size_t>(activity)], begin, end);
}

void StageMonitor::name_thread(std::string_view text) {
  if (trace_) trace_->name_thread(text);
}

StageStatistics StageMonitor::statistics() const {
  const auto seconds = [this](Activity activity) {
    const auto& time = nanoseconds_[static_cast<size_t>(activity)];
    return 1e-9 * static_cast<double>(time.load(std::memory_order_relaxed));
  };
  return {.name = name_,
          .elements = elements_.load(std::memory_order_relaxed),
          .planning = seconds(Activity::planning),
          .computing = seconds(Activity::computing),
          .waiting_for_input = seconds(Activity::waiting_for_input),
          .waiting_for_room = seconds(Activity::waiting_for_room)};
}

PipelineMonitor::PipelineMonitor(size_t threads, std::shared_ptr<ChromeTrace> trace)
    : threads_(threads), trace_(std::move(trace)) {
  stages_.emplace_back("consumer", nullptr, trace_.get());
}

StageMonitor& PipelineMonitor::add(std::string name, StageMonitor& consumer) {
  return stages_.emplace_back(std::move(name), &consumer, trace_.get());
}

void PipelineMonitor::asked() {
  const Clock::time_point now = Clock::now();
  const int64_t last = last_answered_.load(std::memory_order_relaxed);
  if (last == 0) {
    first_asked_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
    consumer().name_thread("consumer");
    return;
  }
  const Clock::time_point before{Clock::duration(last)};
  consumer().add(Activity::planning, now - before);
  consumer().trace(Activity::planning, before, now);
}

void PipelineMonitor::answered(size_t elements) {
  consumer().add_elements(elements);
  last_answered_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
}

PipelineStatistics PipelineMonitor::statistics() const {
  PipelineStatistics result{.threads = threads_};
  const int64_t last = last_answered_.load(std::memory_order_relaxed);
  if (last != 0) {
    const Clock::duration elapsed(last - first_asked_.load(std::memory_order_relaxed));
    result.elapsed = std::chrono::duration<double>(elapsed).count();
  }
  append(stages_.front(), 0, result);
  if (result.elapsed > 0) {
    for (StageStatistics& stage : result.stages) {
      stage.load =
          (stage.planning + stage.computing / static_cast<double>(threads_)) / result.elapsed;
    }
  }
  return result;
}

void PipelineMonitor::append(const StageMonitor& stage, size_t depth,
                             PipelineStatistics& to) const {
  std::vector<const StageMonitor*> inputs;
  for (const StageMonitor& other : stages_) {
    if (other.consumer() == &stage) inputs.push_back(&other);
  }
  for (const StageMonitor* input : inputs) append(*input, depth + (inputs.size() > 1 ? 1 : 0), to);
  to.stages.push_back(stage.statistics());
  to.stages.back().depth = depth;
}

}  // namespace recordpipe::internal
