#include "tools/tfrecord/feature_filter.h"

#include <CLI/App.hpp>

namespace recordpipe {

FeatureFilter::FeatureFilter(const std::vector<std::string>& names) {
  for (const std::string& name : names) found_[name] = false;
}

void FeatureFilter::apply(MessageView& message) const {
  if (found_.empty()) return;
  message.keep_only([&](std::string_view name) {
    const auto wanted = found_.find(name);
    if (wanted == found_.end()) return false;
    // (Written once: threads that only read share the cache line.)
    if (!wanted->second.load(std::memory_order_relaxed)) wanted->second = true;
    return true;
  });
}

std::vector<std::string> FeatureFilter::missing() const {
  std::vector<std::string> names;
  for (const auto& [name, found] : found_) {
    if (!found) names.push_back(name);
  }
  return names;
}

void add_features(CLI::App& app, std::vector<std::string>& names, const std::string& description) {
  app.add_option("--feature,--select", names, description + "; may be repeated")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,...");
}

}  // namespace recordpipe
