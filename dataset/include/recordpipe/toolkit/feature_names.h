// Features chosen by name. A name that no record has is probably mistyped: an error that lists the
// names there are, the nearest first.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/message_view.h"
#include "recordpipe/toolkit/feature_edit.h"

namespace recordpipe {

// Leaves only the features of these names in `message`; no names: all of them. Thread-safe for
// different messages.
void keep_features(MessageView& message, const FeatureNames& names);

// Adds to `found` those of `names` that `message` has.
void find_names(const MessageView& message, const FeatureNames& names, FeatureNames& found);

// Throws Error{not_found} for the first of `names` that is not in `found`: "no record has a feature
// named lable; there are label, image". `present` are the names that there are. `looked_at_all`:
// whether all records of all inputs were read; if not, the message says "no record that was read".
void require_found(const FeatureNames& names, const FeatureNames& found,
                   const std::vector<std::string>& present, bool looked_at_all);

// The names of the features of the first records, in bounded memory: for error messages about
// inputs that may not be readable twice.
class FirstNames {
 public:
  // Thread-safe.
  void add(const MessageView& record);
  // Further records add nothing.
  bool is_full() const { return records_.load(std::memory_order_relaxed) >= kMostRecords; }
  std::vector<std::string> all() const { return {names_.begin(), names_.end()}; }

 private:
  static constexpr size_t kMostRecords = 256;

  void add(std::string_view name);

  std::mutex mutex_;
  std::atomic<size_t> records_ = 0;
  std::set<std::string, std::less<>> names_;
};

}  // namespace recordpipe
