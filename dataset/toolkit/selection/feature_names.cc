#include "recordpipe/toolkit/feature_names.h"

#include <algorithm>

#include "dataset/toolkit/selection/nearest_names.h"
#include "recordpipe/error.h"

namespace recordpipe {
namespace {

constexpr size_t kMostNames = 1000;
constexpr size_t kLongestName = 1000;

}  // namespace

void keep_features(MessageView& message, const FeatureNames& names) {
  if (names.empty()) return;
  message.keep_only([&](std::string_view name) { return names.contains(name); });
}

void find_names(const MessageView& message, const FeatureNames& names, FeatureNames& found) {
  for (const std::string& name : names) {
    if (found.contains(name)) continue;
    if (message.find_feature(name) || message.find_feature_list(name)) found.insert(name);
  }
}

void require_found(const FeatureNames& names, const FeatureNames& found,
                   const std::vector<std::string>& present, bool looked_at_all) {
  const auto missing =
      std::ranges::find_if(names, [&](const std::string& name) { return !found.contains(name); });
  if (missing == names.end()) return;
  throw Error({.kind = ErrorKind::not_found,
               .reason = std::string("no record ") + (looked_at_all ? "" : "that was read ") +
                         "has a feature named " + printable(*missing) + "; " +
                         there_are(present, *missing)});
}

void FirstNames::add(const MessageView& record) {
  if (is_full()) return;
  const std::lock_guard lock(mutex_);
  ++records_;
  for (const NamedFeature& feature : record.features()) add(feature.name);
  for (const FeatureListView& list : record.feature_lists()) add(list.name());
}

void FirstNames::add(std::string_view name) {
  if (names_.size() == kMostNames || name.size() > kLongestName || names_.contains(name)) return;
  names_.emplace(name);
}

}  // namespace recordpipe
