#include "tools/tfrecord/records/event_arguments.h"

#include <string_view>

#include <fmt/format.h>

#include "dataset/base/names_in_words.h"
#include "dataset/base/parse_number.h"
#include "recordpipe/base/error.h"
#include "tools/tfrecord/command_line/command.h"

namespace recordpipe {

void add_event_filter(ArgumentParser& app, EventArguments& arguments) {
  app.add_option("--tag", arguments.tags,
                 "Of TensorBoard's event files: only values of this tag, which may be a pattern, "
                 "'loss*'; may be repeated")
      .type_name("TAG");
  app.add_option("--step", arguments.steps,
                 "Of TensorBoard's event files: only step N, or steps FIRST to END - 1, either of "
                 "which may be left out")
      .type_name("N|FIRST:END");
}

std::optional<EventFilter> event_filter_of(const EventArguments& arguments) {
  if (arguments.tags.empty() && arguments.steps.empty()) return std::nullopt;
  EventFilter filter = {.tags = arguments.tags};
  if (arguments.steps.empty()) return filter;
  const std::string_view text = arguments.steps;
  const auto number = [&](std::string_view digits, int64_t otherwise) {
    if (digits.empty()) return otherwise;
    const auto value = parse_number<int64_t>(digits);
    if (value && *value < INT64_MAX) return *value;
    throw UsageError(fmt::format("invalid --step '{}': expected N or FIRST:END, as in 100:200",
                                 shown_word(text)));
  };
  const size_t colon = text.find(':');
  filter.first_step = number(text.substr(0, colon), INT64_MIN);
  filter.end_step =
      colon == text.npos ? filter.first_step + 1 : number(text.substr(colon + 1), INT64_MAX);
  return filter;
}

void TagsSeen::add(const EventView& event) {
  constexpr size_t kMaxTags = 1000;
  constexpr size_t kLongestTag = 1000;
  if (!any_event_) any_event_ = true;
  if (all_found_ || event.summary.empty()) return;
  const std::lock_guard lock(mutex_);
  for (const SummaryValueView& value : event.summary) {
    std::erase_if(missing_, [&](const std::string& tag) { return fits_tag(value.tag, tag); });
    if (present_.size() == kMaxTags || value.tag.size() > kLongestTag) continue;
    if (!present_.contains(value.tag)) present_.emplace(value.tag);
  }
  all_found_ = missing_.empty();
}

std::string TagsSeen::note(bool looked_at_all) const {
  const char* const which = looked_at_all ? "" : "that was read ";
  if (any_other_ && !any_event_) {
    return fmt::format("no record {}is an Event of TensorBoard, as --tag and --step select", which);
  }
  if (all_found_ || present_.empty()) return {};
  const std::string& tag = *missing_.begin();
  return fmt::format("no value {}has the tag {}; {}", which, printable(tag),
                     there_are({present_.begin(), present_.end()}, tag));
}

}  // namespace recordpipe
