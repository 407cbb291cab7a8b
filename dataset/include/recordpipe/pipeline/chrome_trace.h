// Records a timeline of all threads' activity, for https://ui.perfetto.dev or chrome://tracing.
//
//     auto trace = std::make_shared<ChromeTrace>();
//     auto batches = dataset.with_options({.trace = trace});
//     for (const auto& batch : batches) ...
//     write("trace.json", trace->json());
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace recordpipe {

// Thread-safe. Several pipelines may share one trace.
class ChromeTrace {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Name = uint32_t;

  // Allocates 32 bytes per event as events arrive, up to `max_events`; further events are only
  // counted.
  explicit ChromeTrace(size_t max_events = 1'000'000);

  // Interns the name of an event: equal texts give equal Names.
  Name name(std::string_view text);

  // Records an activity of the calling thread from `begin` to `end`.
  void add(Name event, Name category, Time begin, Time end);

  // Names the calling thread, unless it has a name already.
  void name_thread(std::string_view text);

  size_t dropped() const;

  // Returns a JSON object in Trace Event Format: complete events ("X"), in microseconds since
  // construction, with the names of the process and of its threads (default "worker"), and
  // "dropped_events" if events were dropped.
  // https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
  std::string json() const;

 private:
  struct Event {
    Name name;
    Name category;
    uint32_t thread;
    Time begin;
    Time end;
  };
  static_assert(sizeof(Event) == 32, "as it says above");

  const size_t max_events_;
  const Time start_;
  mutable std::mutex mutex_;
  std::vector<std::string> names_;
  std::map<std::string, Name, std::less<>> numbers_;  // of names_
  std::map<uint32_t, std::string> threads_;
  std::vector<Event> events_;
  size_t dropped_ = 0;
};

}  // namespace recordpipe
