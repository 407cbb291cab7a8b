#include "tools/tfrecord/text/record_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "dataset/example/event_view.h"
#include "dataset/toolkit/selection/nearest_names.h"
#include "recordpipe/error.h"
#include "recordpipe/feature_values.h"
#include "recordpipe/image/decode_image.h"
#include "recordpipe/internal/utf8.h"
#include "recordpipe/parameter.h"
#include "tools/tfrecord/text/schema_text.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {
namespace {

constexpr size_t kMostValues = 8;
constexpr size_t kMostSteps = 4;
constexpr size_t kMostText = 64;
constexpr size_t kMostHex = 16;

std::string_view as_view(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// In quotes, with what has no place in a line escaped.
std::string quoted(std::string_view text) {
  std::string_view shown = text;
  if (text.size() > kMostText) {
    size_t end = 0;
    while (end < kMostText) end += std::max<size_t>(1, utf8_length(text.substr(end)));
    shown = text.substr(0, std::min(end, text.size()));
  }
  JsonText json;
  json.string(shown);
  std::string out = json.text();
  if (shown.size() < text.size()) out += fmt::format(" ... ({} bytes)", grouped(text.size()));
  return out;
}

std::string hex(std::span<const std::byte> bytes) {
  std::string out = byte_count(bytes.size());
  if (bytes.empty()) return out;
  out += ":";
  for (const std::byte byte : bytes.first(std::min(bytes.size(), kMostHex))) {
    out += fmt::format(" {:02x}", std::to_integer<unsigned>(byte));
  }
  if (bytes.size() > kMostHex) out += " ...";
  return out;
}

// Values in a line, the first few of many.
class ValueLine {
 public:
  explicit ValueLine(size_t size) : size_(size) {}

  bool wants_more() const { return shown_ < std::min(size_, kMostValues); }
  void add(std::string_view value) {
    if (shown_++ > 0) text_ += ", ";
    text_ += value;
  }
  std::string text() const {
    if (size_ == 0) return "(no values)";
    if (shown_ == size_) return text_;
    return fmt::format("{}, ... ({} values)", text_, grouped(size_));
  }

 private:
  size_t size_;
  size_t shown_ = 0;
  std::string text_;
};

std::string values_line(const FeatureView& feature) {
  if (feature.kind() == FeatureKind::none) return "(no list)";
  ValueLine line(feature.size());
  for_each_value<FeatureKind::bytes>(feature, [&](std::span<const std::byte> value) {
    if (line.wants_more()) line.add(describe_bytes(value));
  });
  for_each_value<FeatureKind::floats>(feature, [&](float value) {
    if (line.wants_more()) line.add(shortest_text(value));
  });
  for_each_value<FeatureKind::int64s>(feature, [&](int64_t value) {
    if (line.wants_more()) line.add(std::to_string(value));
  });
  return line.text();
}

std::string event_text(const EventView& event) {
  TextTable table({Align::left, Align::left});
  table.add({"wall time", time_text(event.wall_time)});
  table.add({"step", std::to_string(event.step)});
  for (const SummaryValueView& value : event.summary) {
    table.add({quoted(value.tag), value.scalar          ? short_number(*value.scalar)
                                  : value.field.empty() ? "(no value)"
                                                        : fmt::format("{}, {}", value.field,
                                                                      byte_count(value.bytes))});
  }
  if (!event.field.empty() && event.field != "summary") {
    table.add({std::string(event.field), describe_bytes(event.content)});
  }
  return table.text("  ");
}

std::string payload_text(std::span<const std::byte> payload) {
  return "  " + describe_bytes(payload) + "\n";
}

std::string features_text(const ShownRecord& shown) {
  TextTable table({Align::left, Align::left, Align::left});
  const auto add = [&](std::span<const NamedFeature> features) {
    for (const auto& [name, feature] : features) {
      table.add({name_text(name), std::string(json_kind(feature.kind())), values_line(feature)});
    }
  };
  const auto add_lists = [&](std::span<const FeatureListView> lists) {
    for (const FeatureListView& list : lists) {
      table.add({name_text(list.name()), "list", counted(list.size(), "step")});
      size_t i = 0;
      list.for_each_step([&](const FeatureView& step) {
        if (i < kMostSteps) {
          table.add(
              {fmt::format("  [{}]", i), std::string(json_kind(step.kind())), values_line(step)});
        }
        ++i;
      });
      if (i > kMostSteps) table.add({"  ..."});
    }
  };
  add(shown.message.features());
  add_lists(shown.message.feature_lists());
  return table.text("  ");
}

}  // namespace

std::string describe_bytes(std::span<const std::byte> bytes) {
  const std::string_view view = as_view(bytes);
  if (view.starts_with("\x89PNG\r\n\x1a\n") || view.starts_with("\xff\xd8\xff")) {
    try {
      const ImageInfo info = image_info(bytes);
      return fmt::format("{} {}x{}, {}", info.format == ImageFileFormat::png ? "PNG" : "JPEG",
                         info.width, info.height, byte_count(bytes.size()));
    } catch (const Error&) {
      return hex(bytes);
    }
  }
  return is_text(bytes) ? quoted(view) : hex(bytes);
}

std::string record_text(const ShownRecord& shown) {
  const std::string place = shown.path.empty() ? "" : fmt::format("{}, ", printable(shown.path));
  std::string out =
      fmt::format("{}record {} at {}: {}, {}\n", place, shown.number, shown.record.offset,
                  to_string(shown.message.kind()), byte_count(shown.record.data.size()));
  switch (shown.message.kind()) {
    case MessageKind::example:
    case MessageKind::sequence_example:
      return out + features_text(shown);
    case MessageKind::event:
      try {
        return out + event_text(read_event(shown.record.data));
      } catch (const Error&) {
        break;
      }
    case MessageKind::unknown:
      break;
  }
  return out + payload_text(shown.record.data);
}

}  // namespace recordpipe
