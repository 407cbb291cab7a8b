// The features that --feature names: of messages, others are left out.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/example/message_view.h"
#include "tools/tfrecord/cli_forward.h"

namespace recordpipe {

class FeatureFilter {
 public:
  // No names: every feature is wanted.
  explicit FeatureFilter(const std::vector<std::string>& names);

  // Safe to call from several threads.
  void apply(MessageView& message) const;
  // The names that no message had: a mistyped one would go unnoticed.
  std::vector<std::string> missing() const;

 private:
  // Whether some message had it.
  mutable std::map<std::string, std::atomic<bool>, std::less<>> found_;
};

// Adds --feature, and --select as another name of it.
void add_features(CLI::App& app, std::vector<std::string>& names, const std::string& description);

}  // namespace recordpipe
