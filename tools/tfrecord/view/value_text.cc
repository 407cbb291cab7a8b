#include "tools/tfrecord/view/value_text.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "recordpipe/feature_values.h"
#include "recordpipe/internal/utf8.h"
#include "recordpipe/toolkit/image_format.h"
#include "recordpipe/toolkit/json_text.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {
namespace {

constexpr size_t kMostValues = 16;
constexpr size_t kLongestValue = 200;
constexpr size_t kMostBytes = 16;
constexpr size_t kMostSteps = 4;

// The first few of a feature's values, and how many there are beyond.
template <FeatureKind kind, typename Show>
std::string first_values(const FeatureView& feature, Show show) {
  std::string text;
  size_t count = 0;
  for_each_value<kind>(feature, [&](auto value) {
    if (count++ < kMostValues) text.append(text.empty() ? "" : ", ").append(show(value));
  });
  if (count > kMostValues) text += fmt::format(", … {} in all", grouped(count));
  return text;
}

}  // namespace

std::string bytes_text(std::span<const std::byte> value, size_t longest) {
  if (value.empty()) return "\"\"";  // a blank would look like nothing
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
  std::string text = fmt::format("{}:", byte_count(value.size()));
  for (const std::byte byte : value.first(std::min(value.size(), kMostBytes))) {
    text += fmt::format(" {:02x}", std::to_integer<unsigned>(byte));
  }
  return value.size() > kMostBytes ? text + " …" : text;
}

std::string values_text(const FeatureView& feature) {
  switch (feature.kind()) {
    case FeatureKind::bytes:
      return first_values<FeatureKind::bytes>(
          feature, [](auto value) { return bytes_text(value, kLongestValue); });
    case FeatureKind::floats:
      return first_values<FeatureKind::floats>(feature,
                                               [](float value) { return short_number(value); });
    case FeatureKind::int64s:
      return first_values<FeatureKind::int64s>(feature,
                                               [](int64_t value) { return std::to_string(value); });
    case FeatureKind::none:
      break;
  }
  return "";
}

std::string steps_text(const FeatureListView& list) {
  std::string text = counted(list.size(), "step");
  size_t count = 0;
  list.for_each_step([&](const FeatureView& step) {
    if (count++ >= kMostSteps) return;
    text.append(count == 1 ? ": [" : ", [").append(values_text(step)).append("]");
  });
  return count > kMostSteps ? text + ", …" : text;
}

}  // namespace recordpipe
