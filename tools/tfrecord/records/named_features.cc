#include "tools/tfrecord/records/named_features.h"

#include <algorithm>

#include "tools/tfrecord/command_line/nearest_names.h"

namespace recordpipe {

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

}  // namespace recordpipe
