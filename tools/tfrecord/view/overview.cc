#include "tools/tfrecord/view/overview.h"

#include <cmath>
#include <sstream>

#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"
#include "recordpipe/example/feature_values.h"
#include "recordpipe/toolkit/json_text.h"
#include "recordpipe/toolkit/usual_features.h"
#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/io/text_input.h"
#include "tools/tfrecord/text/record_text.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {
namespace {

// Returns the entry of `name`. If there is none, adds a copy of `made`, or returns null if the map
// has `most` entries.
template <typename Map>
typename Map::mapped_type* entry(Map& map, std::string_view name, size_t most,
                                 const typename Map::mapped_type& made = {}) {
  const auto found = map.find(name);
  if (found != map.end()) return &found->second;
  if (map.size() >= most) return nullptr;
  return &map.emplace(std::string(name), made).first->second;
}

}  // namespace

void ValueCounts::add(const FeatureView& feature) {
  if (too_many) return;
  for_each_value<FeatureKind::int64s>(feature, [&](int64_t value) {
    if (!too_many) ++integers[value];
    if (integers.size() > kMax) give_up();
  });
  for_each_value<FeatureKind::bytes>(feature, [&](std::span<const std::byte> value) {
    if (too_many) return;
    if (value.size() > kLongestText || !is_text(value)) return give_up();
    ++texts[{reinterpret_cast<const char*>(value.data()), value.size()}];
    if (texts.size() > kMax) give_up();
  });
}

void ValueCounts::give_up() {
  too_many = true;
  texts.clear();
  integers.clear();
}

void Overview::add(const MessageView& record, size_t size) {
  schema.add(record, size);
  sizes.add(static_cast<double>(size));
  for (const auto& [name, feature] : record.features()) {
    // (A name that the schema leaves out is left out here as well.)
    if (feature.size() == 0 || !schema.features.contains(name)) continue;
    if (feature.kind() != FeatureKind::floats) {
      if (ValueCounts* counts = entry(values, name, kMaxFeatures)) counts->add(feature);
    }
    if (feature.kind() != FeatureKind::bytes) {
      Distribution* const distribution =
          entry(numbers, name, kMaxDistributions, Distribution(4096, 4608));
      if (distribution == nullptr) continue;
      for_each_value<FeatureKind::int64s>(
          feature, [&](int64_t value) { distribution->add(static_cast<double>(value)); });
      for_each_value<FeatureKind::floats>(feature, [&](float value) {
        if (!std::isnan(value)) distribution->add(value);
      });
    }
  }
}

namespace {

constexpr size_t kMaxShown = 4;  // labels per record
constexpr size_t kLongest = 80;

}  // namespace

std::vector<std::string> read_label_names(FileSystem& files, const std::string& given) {
  if (given.empty()) return {};
  const bool is_file = is_url(given) || files.status(given).has_value();
  if (!is_file && given.find(',') == given.npos) {
    throw UsageError("--labels: there is no file " + printable(shown_word(given)) +
                     ", and names are separated by commas");
  }
  std::vector<std::string> names;
  if (is_file) {
    names = lines_of_file(files, given);
  } else {
    std::istringstream stream(given);
    for (std::string name; std::getline(stream, name, ',');) names.push_back(name);
  }
  while (!names.empty() && names.back().empty()) names.pop_back();
  return names;
}

Labels::Labels(std::string feature, std::vector<std::string> names)
    : feature_(std::move(feature)),
      feature_was_said_(!feature_.empty()),
      names_(std::move(names)) {}

const std::string* Labels::name(int64_t value) const {
  const bool has_name = value >= 0 && static_cast<uint64_t>(value) < names_.size();
  return has_name ? &names_[static_cast<size_t>(value)] : nullptr;
}

std::optional<std::string> Labels::label(const MessageView& record) {
  const FeatureView* found = nullptr;
  if (!feature_.empty()) {
    found = record.find_feature(feature_);
  } else {
    for (const std::string_view name : kUsualLabelFeatures) {
      found = record.find_feature(name);
      if (found == nullptr || found->size() == 0) continue;
      feature_ = name;
      break;
    }
  }
  if (found == nullptr || found->size() == 0) return std::nullopt;
  found_any_ = true;
  std::string text;
  size_t count = 0;
  const auto add = [&](const std::string& value) {
    if (count++ < kMaxShown) text.append(text.empty() ? "" : ", ").append(value);
  };
  for_each_value<FeatureKind::int64s>(*found, [&](int64_t value) {
    const std::string* const known = name(value);
    add(known == nullptr ? std::to_string(value) : known->empty() ? "\"\"" : *known);
  });
  for_each_value<FeatureKind::floats>(*found, [&](float value) { add(short_number(value)); });
  for_each_value<FeatureKind::bytes>(
      *found, [&](std::span<const std::byte> value) { add(bytes_text(value, kLongest)); });
  if (count > kMaxShown) text += ", …";
  return text;
}

}  // namespace recordpipe
