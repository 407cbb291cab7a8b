// The features that --feature names: of messages, others are left out.
#pragma once

#include <string>
#include <vector>

#include "recordpipe/message_view.h"
#include "recordpipe/toolkit/feature_edit.h"
#include "tools/tfrecord/command_line/cli_forward.h"

namespace recordpipe {

class FeatureFilter {
 public:
  // No names: every feature is wanted.
  explicit FeatureFilter(const std::vector<std::string>& names);

  // Safe to call from several threads.
  void apply(MessageView& message) const;
  const FeatureNames& names() const { return names_; }

 private:
  const FeatureNames names_;
};

// Adds --feature, and --select as another name of it.
void add_features(CLI::App& app, std::vector<std::string>& names, const std::string& description);

}  // namespace recordpipe
