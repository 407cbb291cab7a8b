// What a thread does, one thing after the other, put down in a timeline if there is one.
#pragma once

#include <string_view>

#include "recordpipe/chrome_trace.h"

namespace recordpipe {

// One thread at a time.
class TracePhases {
 public:
  // Does nothing where `trace`, which must outlive it, is null.
  TracePhases(ChromeTrace* trace, std::string_view category) : trace_(trace) {
    if (trace_ != nullptr) category_ = trace_->name(category);
  }
  ~TracePhases() {
    try {
      end();
    } catch (...) {  // no memory for an event: the timeline is without it
    }
  }
  TracePhases(const TracePhases&) = delete;
  TracePhases& operator=(const TracePhases&) = delete;

  // The phase before ends here; the last one does when this object goes.
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
