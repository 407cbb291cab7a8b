#include "recordpipe/trainer/session/profiler_hook.h"

#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "recordpipe/io/atomic_file.h"
#include "recordpipe/trainer/session/write_events.h"

namespace recordpipe {
namespace {

constexpr std::string_view kTimelinePrefix = "timeline-", kTimelineSuffix = ".json";

}  // namespace

bool is_timeline_name(std::string_view name) {
  return name.starts_with(kTimelinePrefix) && name.ends_with(kTimelineSuffix);
}

ProfilerHook::ProfilerHook(FileSystem& file_system, std::string folder, ProfilerOptions options)
    : file_system_(file_system),
      folder_(std::move(folder)),
      timer_("ProfilerHook", options.every, std::move(options.now)) {}

void ProfilerHook::after_create_session(TrainingSession& session) {
  timer_.reset();
  // A failed step may have left one.
  trace_.reset();
  session.trainer().trace_to(nullptr);
  write_events(session, [&] {
    if (!file_system_.status(folder_)) return;
    remove_abandoned_partials(file_system_, folder_, is_timeline_name);
  });
}

void ProfilerHook::before_run(TrainingSession& session, RunContext& context) {
  const uint64_t step = context.step + 1;
  if (!timer_.is_due(step)) return;
  if (!timer_.update(step)) return;  // the first step
  trace_ = std::make_shared<ChromeTrace>();
  trace_->name_thread("training");
  session.trainer().trace_to(trace_);
  begin_ = std::chrono::steady_clock::now();
}

void ProfilerHook::after_run(TrainingSession& session, const RunValues& values) {
  if (!trace_) return;
  const std::shared_ptr<ChromeTrace> trace = std::exchange(trace_, nullptr);
  session.trainer().trace_to(nullptr);
  if (values.input_wait_seconds > 0)
    trace->add(trace->name("wait for the batch"), trace->name("step"), begin_,
               begin_ + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                            std::chrono::duration<double>(values.input_wait_seconds)));
  write_events(session, [&] {
    file_system_.make_directories(folder_);
    AtomicFile file(file_system_, fmt::format("{}/{}{}{}", folder_, kTimelinePrefix,
                                              values.result.step, kTimelineSuffix));
    const std::string json = trace->json();
    file.write(std::as_bytes(std::span(json)));
    file.commit();
  });
}

}  // namespace recordpipe
