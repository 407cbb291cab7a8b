// --tag and --step: which Events of TensorBoard show and export take.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dataset/applications/command_line/argument_parser.h"
#include "dataset/example/event_view.h"

namespace recordpipe {

struct EventArguments {
  std::vector<std::string> tags = {};
  std::string steps = {};
};

// Adds --tag and --step.
void add_event_filter(ArgumentParser& app, EventArguments& arguments);
// Empty if neither was given. Throws UsageError for steps that are no range.
std::optional<EventFilter> event_filter_of(const EventArguments& arguments);

}  // namespace recordpipe
