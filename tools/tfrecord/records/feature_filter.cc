#include "tools/tfrecord/records/feature_filter.h"

#include <CLI/App.hpp>

namespace recordpipe {

FeatureFilter::FeatureFilter(const std::vector<std::string>& names)
    : names_(names.begin(), names.end()) {}

void FeatureFilter::apply(MessageView& message) const {
  if (names_.empty()) return;
  message.keep_only([&](std::string_view name) { return names_.contains(name); });
}

void add_features(CLI::App& app, std::vector<std::string>& names, const std::string& description) {
  app.add_option("--feature,--select", names, description + "; may be repeated")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,...");
}

}  // namespace recordpipe
