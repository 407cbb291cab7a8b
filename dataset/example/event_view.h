// Zero-copy access to TensorBoard's Event, the message type of TensorFlow's event files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace recordpipe {

struct SummaryValueView {
  std::string_view tag = {};
  // "simple_value", "image", "histo", "audio", "tensor"; "" if none is set.
  std::string_view field = {};
  // A simple_value, or the single float, double or integer of a tensor (TensorFlow 2's scalars).
  std::optional<double> scalar = {};
  size_t bytes = 0;  // size of the field; 0 for a simple_value
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

}  // namespace recordpipe
