// Examples with fewer features, or with other names for them.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

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

}  // namespace recordpipe
