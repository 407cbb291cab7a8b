// The names of the features of the first records, in bounded memory: for messages that say which
// there are, of inputs that may not be read twice.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/message_view.h"

namespace recordpipe {

class FirstNames {
 public:
  // Safe to call from several threads.
  void add(const MessageView& record) {
    if (is_full()) return;
    const std::lock_guard lock(mutex_);
    ++records_;
    for (const NamedFeature& feature : record.features()) add(feature.name);
    for (const FeatureListView& list : record.feature_lists()) add(list.name());
  }
  // Further records add nothing.
  bool is_full() const { return records_.load(std::memory_order_relaxed) >= kMostRecords; }
  std::vector<std::string> all() const { return {names_.begin(), names_.end()}; }

 private:
  static constexpr size_t kMostRecords = 256;
  static constexpr size_t kMostNames = 1000;
  static constexpr size_t kLongestName = 1000;

  void add(std::string_view name) {
    if (names_.size() == kMostNames || name.size() > kLongestName || names_.contains(name)) return;
    names_.emplace(name);
  }

  std::mutex mutex_;
  std::atomic<size_t> records_ = 0;
  std::set<std::string, std::less<>> names_;
};

}  // namespace recordpipe
