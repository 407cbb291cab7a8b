// TensorBoard's Event, read where it lies: what TensorFlow's event files hold, a record each.
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
  // "simple_value", "image", "histo", "audio", "tensor"; "" where there is none.
  std::string_view field = {};
  // A simple_value, or the one float, double or integer of a tensor (as TensorFlow 2 writes
  // scalars).
  std::optional<double> scalar = {};
  size_t bytes = 0;  // of anything but a simple_value
};

// Valid as long as the record's bytes.
struct EventView {
  double wall_time = 0;  // in seconds since 1970
  int64_t step = 0;
  // "file_version", "graph_def", "summary", ...: the names of event.proto; "" where there is none.
  std::string_view field = {};
  std::span<const std::byte> content = {};  // of the field
  std::vector<SummaryValueView> summary = {};
};

// Of a record whose message_kind() is event. Throws Error{corrupted} where something inside is no
// message.
EventView read_event(std::span<const std::byte> record);

}  // namespace recordpipe
