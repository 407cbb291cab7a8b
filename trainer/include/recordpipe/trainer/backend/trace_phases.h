// Records the consecutive phases of a thread in a timeline, if there is one.
#pragma once

#include <string_view>

#include "recordpipe/pipeline/chrome_trace.h"

namespace recordpipe {

// Not thread-safe.
class TracePhases {
 public:
  // A no-op if `trace` is null. `trace` must outlive this object.
  TracePhases(ChromeTrace* trace, std::string_view category) : trace_(trace) {
    if (trace_ != nullptr) category_ = trace_->name(category);
  }
  ~TracePhases() {
    try {
      end();
    } catch (...) {  // out of memory for an event: it is left out of the timeline
    }
  }
  TracePhases(const TracePhases&) = delete;
  TracePhases& operator=(const TracePhases&) = delete;

  // Starts a phase and ends the one before. The destructor ends the last phase.
  void begin(std::string_view name) {
    if (trace_ == nullptr) return;
    end();
    name_ = trace_->name(name);
    started_ = true;
    begin_ = std::chrono::steady_clock::now();
  }

 private:
  void end() {
    if (!started_) return;
    started_ = false;
    trace_->add(name_, category_, begin_, std::chrono::steady_clock::now());
  }

  ChromeTrace* const trace_;
  ChromeTrace::Name category_ = 0;
  ChromeTrace::Name name_ = 0;
  ChromeTrace::Time begin_ = {};
  bool started_ = false;
};

}  // namespace recordpipe
