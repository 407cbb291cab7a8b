// --tag and --step: which Events of TensorBoard show and export take.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dataset/example/event_view.h"
#include "tools/support/command_line/argument_parser.h"

namespace recordpipe {

struct EventArguments {
  std::vector<std::string> tags = {};
  std::string steps = {};
};

// Adds --tag and --step.
void add_event_filter(ArgumentParser& app, EventArguments& arguments);
// Empty if neither was given. Throws UsageError for steps that are no range.
std::optional<EventFilter> event_filter_of(const EventArguments& arguments);

// Notes which tags occur, for a note about a --tag that no value has, or about --tag and --step
// where no record is an Event. add() and add_other() are thread-safe.
class TagsSeen {
 public:
  // `tags`: EventFilter::tags.
  explicit TagsSeen(std::vector<std::string> tags) : missing_(tags.begin(), tags.end()) {
    all_found_ = missing_.empty();
  }

  void add(const EventView& event);
  // A record that is no Event.
  void add_other() {
    if (!any_other_) any_other_ = true;
  }
  // "no value has the tag nope; there are loss, rate", or, if not everything was read, "no value
  // that was read ..."; "no record is an Event ..."; empty if there is nothing to note.
  std::string note(bool looked_at_all) const;

 private:
  std::mutex mutex_;
  std::atomic<bool> any_event_ = false;
  std::atomic<bool> any_other_ = false;
  std::atomic<bool> all_found_ = false;
  std::set<std::string> missing_;
  std::set<std::string, std::less<>> present_;  // some of them
};

}  // namespace recordpipe
