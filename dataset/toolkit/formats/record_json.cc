#include "recordpipe/toolkit/record_json.h"

#include <utility>
#include <vector>

#include "dataset/example/event_view.h"
#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

// Returns whether the feature's values don't imply its kind.
bool needs_kind(const FeatureView& feature) {
  return feature.size() == 0 && feature.kind() != FeatureKind::none;
}

void append_kind(const FeatureView& feature, JsonText& json) {
  if (needs_kind(feature)) {
    json.string(json_kind(feature.kind()));
  } else {
    json.raw("null");
  }
}

void append_kinds(std::span<const NamedFeature> features, JsonText& json) {
  bool any = false;
  for (const auto& [name, feature] : features) {
    if (!needs_kind(feature)) continue;
    json.raw(any ? ", " : ", \"kinds\": {");
    any = true;
    json.string(name);
    json.raw(": ");
    append_kind(feature, json);
  }
  if (any) json.raw("}");
}

bool has_step_that_needs_kind(const FeatureListView& list) {
  bool any = false;
  list.for_each_step([&](const FeatureView& step) { any = any || needs_kind(step); });
  return any;
}

void append_step_kinds(std::span<const FeatureListView> lists, JsonText& json) {
  bool any = false;
  for (const FeatureListView& list : lists) {
    if (!has_step_that_needs_kind(list)) continue;
    json.raw(any ? ", " : ", \"step_kinds\": {");
    any = true;
    json.string(list.name());
    json.raw(": [");
    bool first = true;
    list.for_each_step([&](const FeatureView& step) {
      if (!first) json.raw(", ");
      first = false;
      append_kind(step, json);
    });
    json.raw("]");
  }
  if (any) json.raw("}");
}

// `columns` are the features of an ExampleListWithContext's Examples.
void append_examples(std::span<const FeatureListView> columns, JsonText& json) {
  std::vector<std::vector<FeatureView>> steps(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    columns[i].for_each_step([&](const FeatureView& step) { steps[i].push_back(step); });
  }
  json.raw(", \"examples\": [");
  for (size_t row = 0; !steps.empty() && row < steps.front().size(); ++row) {
    json.raw(row > 0 ? ", {" : "{");
    bool first = true;
    for (size_t i = 0; i < columns.size(); ++i) {
      if (steps[i][row].kind() == FeatureKind::none) continue;
      if (!std::exchange(first, false)) json.raw(", ");
      json.string(columns[i].name());
      json.raw(": ");
      json.values(steps[i][row]);
    }
    json.raw("}");
  }
  json.raw("]");
}

void append_number(double value, std::string_view digits, JsonText& json) {
  digits.empty() ? json.number(value) : json.raw(digits);
}

void append_tensor(const TensorView& tensor, JsonText& json) {
  json.raw(", \"dtype\": ");
  json.string(to_string(tensor.type()));
  json.raw(", \"shape\": " + shape_text(tensor.shape()) + ", \"values\": ");
  std::string_view separator = "[";
  const bool printed = for_each_number(tensor, [&](double value, std::string_view digits) {
    json.raw(std::exchange(separator, ", "));
    append_number(value, digits, json);
  });
  json.raw(!printed ? "null" : separator == "[" ? "[]" : "]");
}

void append_summary_value(const SummaryValueView& value, JsonText& json) {
  json.raw("{\"tag\": ");
  json.string(value.tag);
  if (value.scalar) {
    json.raw(", \"value\": ");
    append_number(*value.scalar, value.digits, json);
  } else if (value.tensor) {
    append_tensor(*value.tensor, json);
  } else if (!value.texts.empty()) {
    json.raw(", \"text\": [");
    for (size_t i = 0; i < value.texts.size(); ++i) {
      if (i > 0) json.raw(", ");
      json.bytes(std::as_bytes(std::span(value.texts[i])));
    }
    json.raw("]");
  } else if (!value.field.empty()) {
    json.raw(", \"kind\": ");
    json.string(value.field);
    json.raw(", \"bytes\": ");
    json.number(static_cast<uint64_t>(value.bytes));
  }
  json.raw("}");
}

void append_event(const EventView& event, JsonText& json) {
  json.raw(", \"event\": {\"wall_time\": ");
  json.number(event.wall_time);
  json.raw(", \"step\": ");
  json.number(event.step);
  if (!event.field.empty()) {
    json.raw(", ");
    json.string(event.field);
    json.raw(": ");
    if (event.field != "summary") {
      json.bytes(event.content);
    } else {
      json.list(event.summary, [&](const auto& value) { append_summary_value(value, json); });
    }
  }
  json.raw("}");
}

void append_payload(std::span<const std::byte> payload, JsonText& json) {
  json.raw(", \"payload\": ");
  json.bytes(payload);
}

}  // namespace

void append_features_json(const MessageView& message, JsonText& json) {
  json.raw("\"features\": ");
  json.features(message.features());
  append_kinds(message.features(), json);
  if (message.kind() == MessageKind::example_list) append_examples(message.feature_lists(), json);
  if (message.kind() != MessageKind::sequence_example) return;
  json.raw(", \"feature_lists\": ");
  json.feature_lists(message.feature_lists());
  append_step_kinds(message.feature_lists(), json);
}

void append_record_json(const ShownRecord& shown, JsonText& json) {
  json.raw("{");
  if (!shown.path.empty()) {
    json.raw("\"path\": ");
    json.string(shown.path);
    json.raw(", ");
  }
  json.raw("\"record\": ");
  json.number(shown.number);
  json.raw(", \"offset\": ");
  json.number(shown.record.offset);
  if (shown.content != nullptr) {
    json.raw(", \"message\": ");
    json.raw(*shown.content);
    json.raw("}\n");
    return;
  }
  switch (shown.message.kind()) {
    case MessageKind::example:
    case MessageKind::sequence_example:
    case MessageKind::example_list:
      json.raw(", ");
      append_features_json(shown.message, json);
      break;
    case MessageKind::event:
      try {
        EventView event = read_event(shown.record.data);
        if (shown.events != nullptr) keep_selected(event, *shown.events);
        append_event(event, json);
      } catch (const Error&) {
        append_payload(shown.record.data, json);
      }
      break;
    case MessageKind::unknown:
      if (const std::string why = shown.message.undecided(); !why.empty()) {
        json.raw(", \"undecided\": ");
        json.string(why);
      }
      append_payload(shown.record.data, json);
  }
  json.raw("}\n");
}

}  // namespace recordpipe
