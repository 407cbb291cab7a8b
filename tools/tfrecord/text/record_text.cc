#include "tools/tfrecord/text/record_text.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "dataset/toolkit/names.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/utf8.h"
#include "recordpipe/base/parameter.h"
#include "recordpipe/example/feature_values.h"
#include "recordpipe/image/decode_image.h"
#include "recordpipe/toolkit/image_format.h"
#include "recordpipe/toolkit/json_text.h"
#include "tools/tfrecord/text/schema_text.h"
#include "tools/tfrecord/text/text_style.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {
namespace {

constexpr size_t kMaxSteps = 4;
constexpr size_t kMaxLabelText = 64;
constexpr size_t kMaxHex = 16;

std::string_view as_view(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Returns `text` in quotes, with control characters escaped; shortens a long text.
std::string in_quotes(std::string_view text) {
  std::string_view shown = text;
  if (text.size() > kMaxLabelText) {
    size_t end = 0;
    while (end < kMaxLabelText) end += std::max<size_t>(1, utf8_length(text.substr(end)));
    shown = text.substr(0, std::min(end, text.size()));
  }
  JsonText json;
  json.string(shown);
  std::string out = json.text();
  if (shown.size() < text.size()) out += fmt::format(" ... ({} bytes)", grouped(text.size()));
  return out;
}

// `more` stands for the bytes after the first few.
std::string hex(std::span<const std::byte> bytes, std::string_view more = " ...") {
  std::string out = byte_count(bytes.size());
  if (bytes.empty()) return out;
  out += ":";
  for (const std::byte byte : bytes.first(std::min(bytes.size(), kMaxHex))) {
    out += fmt::format(" {:02x}", std::to_integer<unsigned>(byte));
  }
  return bytes.size() > kMaxHex ? out.append(more) : out;
}

// Returns the first `most` values of a feature, on one line.
template <typename ShowBytes, typename ShowFloat>
std::string first_values(const FeatureView& feature, size_t most, ShowBytes show_bytes,
                         ShowFloat show_float) {
  std::string text;
  size_t count = 0;
  const auto add = [&](auto value, auto show) {
    if (count++ < most) text.append(count == 1 ? "" : ", ").append(show(value));
  };
  for_each_value<FeatureKind::bytes>(feature, [&](auto value) { add(value, show_bytes); });
  for_each_value<FeatureKind::floats>(feature, [&](float value) { add(value, show_float); });
  for_each_value<FeatureKind::int64s>(feature, [&](int64_t value) {
    add(value, [](int64_t number) { return std::to_string(number); });
  });
  return text;
}

constexpr size_t kMaxOnLine = 8;  // values of a line

std::string values_line(const FeatureView& feature) {
  if (feature.kind() == FeatureKind::none) return "(no list)";
  if (feature.size() == 0) return "(no values)";
  std::string line = first_values(feature, kMaxOnLine, describe_bytes, shortest_text<float>);
  if (feature.size() <= kMaxOnLine) return line;
  return fmt::format("{}, ... ({} values)", line, grouped(feature.size()));
}

std::string tensor_text(const TensorView& tensor) {
  std::string values;
  size_t count = 0;
  for_each_number(tensor, [&](double value, std::string_view digits) {
    if (count++ >= kMaxOnLine) return;
    values += values.empty() ? ": " : ", ";
    values += digits.empty() ? short_number(value) : digits;
  });
  if (count > kMaxOnLine) values += fmt::format(", ... ({} values)", grouped(count));
  return fmt::format("{} {}{}", to_string(tensor.type()), shape_text(tensor.shape()), values);
}

// Whether summary_value_text() says more than a size.
bool is_described(const SummaryValueView& value) {
  return value.scalar || value.tensor || !value.texts.empty() || value.field.empty();
}

std::string event_text(const EventView& event, bool colored) {
  TextTable table({Align::left, Align::left});
  if (colored) table.paint({Color::name, Color::none});
  table.add({"wall time", time_text(event.wall_time)});
  table.add({"step", std::to_string(event.step)});
  for (const SummaryValueView& value : event.summary) {
    const std::string field = is_described(value) ? "" : std::string(value.field) + ", ";
    table.add({in_quotes(value.tag), field + summary_value_text(value)});
  }
  if (!event.field.empty() && event.field != "summary") {
    table.add({std::string(event.field), describe_bytes(event.content)});
  }
  return table.text("  ");
}

std::string payload_text(std::span<const std::byte> payload) {
  return "  " + describe_bytes(payload) + "\n";
}

std::string features_text(const ShownRecord& shown, bool colored) {
  TextTable table({Align::left, Align::left, Align::left});
  if (colored) table.paint({Color::name, Color::kind, Color::none});
  for (const auto& [name, feature] : shown.message.features()) {
    table.add({name_text(name), std::string(json_kind(feature.kind())), values_line(feature)});
  }
  const char* const what = shown.message.kind() == MessageKind::example_list ? "example" : "step";
  for (const FeatureListView& list : shown.message.feature_lists()) {
    table.add({name_text(list.name()), "list", counted(list.size(), what)});
    size_t i = 0;
    list.for_each_step([&](const FeatureView& step) {
      const size_t place = i++;
      if (place >= kMaxSteps) return;
      table.add(
          {fmt::format("  [{}]", place), std::string(json_kind(step.kind())), values_line(step)});
    });
    if (i > kMaxSteps) table.add({"  ..."});
  }
  return table.text("  ");
}

}  // namespace

std::string summary_value_text(const SummaryValueView& value) {
  if (value.scalar) return short_number(*value.scalar);
  if (value.tensor) return tensor_text(*value.tensor);
  std::string texts;
  for (const std::string_view text : value.texts) {
    texts += (texts.empty() ? "" : ", ") + describe_bytes(std::as_bytes(std::span(text)));
  }
  if (!texts.empty()) return texts;
  return value.field.empty() ? "(no value)" : byte_count(value.bytes);
}

std::string describe_bytes(std::span<const std::byte> bytes) {
  const std::string_view view = as_view(bytes);
  if (!image_format(bytes).empty()) {
    try {
      const ImageInfo info = image_info(bytes);
      return fmt::format("{} {}x{}, {}", to_string(info.format), info.width, info.height,
                         byte_count(bytes.size()));
    } catch (const Error&) {
      // It is text, or damaged.
    }
  }
  return is_text(bytes) ? in_quotes(view) : hex(bytes);
}

std::string record_text(const ShownRecord& shown, const RecordTextOptions& options) {
  const bool colored = options.colored;
  const std::string path = painted(printable(shown.path), Color::path, colored);
  std::string out;
  if (options.names_place_first) {
    out = fmt::format("{}:{}: at {}: ", path,
                      painted(std::to_string(shown.number), Color::number, colored),
                      shown.record.offset);
  } else {
    out = shown.path.empty() ? "" : path + ", ";
    out += painted(fmt::format("record {} at {}", shown.number, shown.record.offset),
                   Color::heading, colored) +
           ": ";
  }
  if (shown.content != nullptr) return out + *shown.content;
  const std::string why = shown.message.undecided();
  out += fmt::format("{}{}, {}\n", to_string(shown.message.kind()),
                     why.empty() ? "" : " (" + why + ")", byte_count(shown.record.data.size()));
  switch (shown.message.kind()) {
    case MessageKind::example:
    case MessageKind::sequence_example:
    case MessageKind::example_list:
      return out + features_text(shown, colored);
    case MessageKind::event:
      try {
        EventView event = read_event(shown.record.data);
        if (shown.events != nullptr) keep_selected(event, *shown.events);
        return out + event_text(event, colored);
      } catch (const Error&) {
        break;
      }
    case MessageKind::unknown:
      break;
  }
  return out + payload_text(shown.record.data);
}

std::string bytes_text(std::span<const std::byte> value, size_t longest) {
  if (value.empty()) return "\"\"";  // empty output would be ambiguous
  if (is_text(value)) {
    const std::string_view text(reinterpret_cast<const char*>(value.data()), value.size());
    if (text.size() <= longest) return std::string(text);
    size_t end = 0;
    while (end < longest) end += utf8_length(text.substr(end));
    return fmt::format("{}… {}", text.substr(0, end), byte_count(text.size()));
  }
  if (const std::string_view format = image_format(value); !format.empty()) {
    return fmt::format("{} file, {}", format, byte_count(value.size()));
  }
  return hex(value, " …");
}

std::string values_text(const FeatureView& feature) {
  constexpr size_t kMaxValues = 16;
  constexpr size_t kLongestValue = 200;
  const std::string text = first_values(
      feature, kMaxValues,
      [](std::span<const std::byte> value) { return bytes_text(value, kLongestValue); },
      short_number);
  if (feature.size() <= kMaxValues) return text;
  return fmt::format("{}, … {} in all", text, grouped(feature.size()));
}

std::string steps_text(const FeatureListView& list) {
  std::string text = counted(list.size(), "step");
  size_t count = 0;
  list.for_each_step([&](const FeatureView& step) {
    if (count++ >= kMaxSteps) return;
    text.append(count == 1 ? ": [" : ", [").append(values_text(step)).append("]");
  });
  return count > kMaxSteps ? text + ", …" : text;
}

}  // namespace recordpipe
