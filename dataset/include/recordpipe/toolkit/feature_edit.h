// Examples with fewer features, or with other names for them.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/message_view.h"

namespace recordpipe {

using FeatureNames = std::set<std::string, std::less<>>;

struct FeatureEdit {
  // Keeps only these.
  std::optional<FeatureNames> select = {};
  // Leaves these out.
  FeatureNames drop = {};
  // Old name → new name, of what is kept.
  std::map<std::string, std::string, std::less<>> rename = {};

  bool empty() const { return !select && drop.empty() && rename.empty(); }
};

// In pieces that stand one after another, so that a message as large as the memory isn't in it
// twice.
struct EditedMessage {
  // Long values (4 KiB and more) are where they were in the message that was edited, which must
  // live as long; the rest is in `written`.
  std::vector<std::span<const std::byte>> pieces = {};
  std::unique_ptr<const std::string> written = {};
  // Those of the edit's names that the message has.
  FeatureNames found = {};
};

// `message`, an Example or a SequenceExample (its context's features and its feature lists alike),
// after `edit`. Values keep the bytes they have; names are sorted, so that the same features always
// give the same bytes, whatever order they came in. Of several features with one name the last one
// stays. Unknown fields of the messages around the features go. A SequenceExample whose lists are
// all dropped stays one, with none.
//
// Throws Error{corrupted} with the offset in `message` where it is neither of the two, and
// Error{already_exists} where two features end up with one name.
EditedMessage edit_features(std::span<const std::byte> message, const FeatureEdit& edit);

// Features chosen by name. A name that no record has is probably mistyped: an error that lists the
// names there are, the nearest first.

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
