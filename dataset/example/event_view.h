// Zero-copy access to TensorBoard's Event, the message type of TensorFlow's event files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/example/tensor_proto.h"

namespace recordpipe {

struct SummaryValueView {
  std::string_view tag = {};
  // "simple_value", "image", "histo", "audio", "tensor"; "" if none is set.
  std::string_view field = {};
  // A simple_value, or the single number of a tensor (TensorFlow 2's scalars), of any type but the
  // complex ones.
  std::optional<double> scalar = {};
  std::string digits = {};                   // of a scalar of an integer type, all of them
  std::vector<std::string_view> texts = {};  // of a tensor of strings
  std::optional<TensorView> tensor = {};     // of numbers, and not a scalar
  size_t bytes = 0;                          // size of the field; 0 for a simple_value
};

// Refers to the record's bytes, which must outlive it.
struct EventView {
  double wall_time = 0;  // in seconds since 1970
  int64_t step = 0;
  // The field of event.proto that is set: "file_version", "graph_def", "summary", ...; "" if none.
  std::string_view field = {};
  std::span<const std::byte> content = {};  // the bytes of the field
  std::vector<SummaryValueView> summary = {};
};

// Parses a record whose message_kind() is event. Throws Error{corrupted} if a nested message is
// invalid.
EventView read_event(std::span<const std::byte> record);

// A number of a tensor; `digits` as those of a SummaryValueView.
using TensorNumberFunction = std::function<void(double value, std::string_view digits)>;

// Calls `function` for each element in row-major order. Returns false without a call if there is
// nothing to print: the elements are complex, or repeat a few stored ones so often that the tensor
// takes much more memory than its message.
bool for_each_number(const TensorView& tensor, const TensorNumberFunction& function);

// Selects Events, and values of their summaries.
struct EventFilter {
  std::vector<std::string> tags = {};  // patterns of the shell: "loss*"; default: all
  int64_t first_step = INT64_MIN;
  int64_t end_step = INT64_MAX;  // the first one behind

  bool all() const { return tags.empty() && first_step == INT64_MIN && end_step == INT64_MAX; }
};

// Whether `tag` is one of the pattern of EventFilter::tags.
bool fits_tag(std::string_view tag, const std::string& pattern);

// Keeps the values whose tag is selected. Returns whether the Event is selected: by its step, and,
// if there are tags, by a value that is left.
bool keep_selected(EventView& event, const EventFilter& filter);

}  // namespace recordpipe
