// A timeline of what each thread did, to look at in https://ui.perfetto.dev or chrome://tracing.
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

// All from any thread. Several pipelines may write to one.
class ChromeTrace {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Name = uint32_t;

  // Memory is taken for the events that come, 32 bytes each, up to `max_events`; what comes then is
  // only counted.
  explicit ChromeTrace(size_t max_events = 1'000'000);

  // A name for events: the same number for the same text.
  Name name(std::string_view text);

  // What the calling thread did from `begin` to `end`.
  void add(Name event, Name category, Time begin, Time end);

  // What the calling thread is called, if it has no name yet.
  void name_thread(std::string_view text);

  size_t dropped() const;

  // Trace Event Format, as an object: complete events ("X"), in microseconds since the trace was
  // made, with the names of the process and of its threads, "worker" where they have been given
  // none, and "dropped_events" where there are any.
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
