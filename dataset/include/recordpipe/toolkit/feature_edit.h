// Removes, renames and replaces features of Examples and SequenceExamples.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/example/message_view.h"

namespace recordpipe {

using FeatureNames = std::set<std::string, std::less<>>;

struct FeatureEdit {
  // The type of the messages (default: as message_kind() says). A record that has more than the
  // features of this type, MessageView::unread(), is an error.
  std::optional<MessageKind> kind = {};
  // Keeps only these features (default: all).
  std::optional<FeatureNames> select = {};
  // Removes these features.
  FeatureNames drop = {};
  // Old name → new name of kept features.
  std::map<std::string, std::string, std::less<>> rename = {};
  // Computes features anew, before the rest of the edit: returns a serialised Example, whose
  // features replace those of the same names in the message (in a SequenceExample's context).
  // Called concurrently on several threads; its result must depend on the message only. An Error
  // that it throws fails the record.
  std::function<std::string(const MessageView&)> replace = {};
  // The names that `replace` looks for, for FeatureEdit's users to check.
  FeatureNames replaced = {};

  bool empty() const { return !select && drop.empty() && rename.empty() && !replace; }
};

// The edited message as consecutive pieces, which avoids copying large values.
struct EditedMessage {
  // Values of 4 KiB or more point into the original message, which must outlive the pieces; all
  // other bytes are in `written`.
  std::vector<std::span<const std::byte>> pieces = {};
  std::unique_ptr<const std::string> written = {};
  std::unique_ptr<const std::string> replaced = {};  // the features that `replace` has computed
  // The names of the edit that exist in the message.
  FeatureNames found = {};
};

// Applies `edit` to `message`, an Example or a SequenceExample (the context's features and the
// feature lists). The encoding of values is unchanged. Names are sorted: the same features always
// give the same bytes, regardless of their original order. A SequenceExample without remaining
// lists stays a SequenceExample.
//
// Throws Error{corrupted} with the offset in `message` if it is neither an Example nor a
// SequenceExample, Error{unsupported} if it has anything but features that the edit would drop,
// Error{already_exists} if two features would get the same name, and Error{invalid_argument} for a
// new name that is not UTF-8.
EditedMessage edit_features(std::span<const std::byte> message, const FeatureEdit& edit);

// Selection of features by name. A name that no record has is probably misspelled, so the error
// lists the existing names, the most similar first.

// Removes all features from `message` except `names`; keeps all features if `names` is empty.
// Thread-safe for different messages.
void keep_features(MessageView& message, const FeatureNames& names);

// Adds the elements of `names` that exist in `message` to `found`.
void find_names(const MessageView& message, const FeatureNames& names, FeatureNames& found);

// Throws Error{not_found} for the first name in `names` that is not in `found`: "no record has a
// feature named lable; there are label, image". `present`: the existing names. `looked_at_all`:
// whether all records of all inputs were read. If not, other records may have the feature: throws
// nothing, and returns the reason for a note: "no record that was read has ...", or, if the name is
// in `present`, "no record that was taken has ...; others have". Returns an empty string if nothing
// is missing.
[[nodiscard]] std::string require_found(const FeatureNames& names, const FeatureNames& found,
                                        const std::vector<std::string>& present,
                                        bool looked_at_all);

// Collects the feature names of the first records, in bounded memory. For error messages about
// inputs that may not be readable twice.
class FirstNames {
 public:
  // Thread-safe.
  void add(const MessageView& record);
  // Adds the names that another object has collected.
  void add(const std::vector<std::string>& names);
  // true: further add() calls are no-ops.
  bool is_full() const { return records_.load(std::memory_order_relaxed) >= kMaxRecords; }
  std::vector<std::string> all() const { return {names_.begin(), names_.end()}; }

 private:
  static constexpr size_t kMaxRecords = 256;

  void add(std::string_view name);

  std::mutex mutex_;
  std::atomic<size_t> records_ = 0;
  std::set<std::string, std::less<>> names_;
};

}  // namespace recordpipe
