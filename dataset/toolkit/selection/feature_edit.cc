#include "recordpipe/toolkit/feature_edit.h"

#include <algorithm>
#include <utility>

#include "dataset/example/feature_name.h"
#include "dataset/example/wire_writer.h"
#include "dataset/toolkit/names.h"
#include "recordpipe/base/error.h"
#include "recordpipe/example/internal/feature_reader.h"

namespace recordpipe {
namespace {

constexpr size_t kLongValue = 4096;

using ValuePieces = std::vector<std::span<const std::byte>>;

size_t size_of(const ValuePieces& pieces) {
  size_t size = 0;
  for (const auto& piece : pieces) size += piece.size();
  return size;
}

// Maps a name to the bytes of its value. A value may consist of several pieces, which are
// equivalent to their concatenation.
using Entries = std::map<std::string_view, ValuePieces>;

// Reads `map` into `entries`. `check` parses each piece of a value and throws if it is malformed.
template <typename Check>
void read_map(WireReader map, Entries& entries, Check check) {
  read_messages(map, kFeaturesEntry, [&](WireReader entry) {
    ValuePieces value;
    const std::string_view key = check_entry(entry, [&](WireReader piece) {
      value.push_back(piece.rest());
      check(piece);
    });
    entries.insert_or_assign(key, std::move(value));
  });
}

void check_feature(WireReader feature) { FeatureSize().add(feature); }

void check_feature_list(WireReader list) {
  read_messages(list, kFeatureListFeature, check_feature);
}

// Applies `edit`, and adds to `found` the names of `edit` that occur in `entries`. The names in the
// result point into the message and into `edit`.
std::optional<Entries> edited(std::optional<Entries> entries, const FeatureEdit& edit,
                              FeatureNames& found) {
  if (!entries) return std::nullopt;
  Entries out;
  for (auto& [name, value] : *entries) {
    const auto renamed = edit.rename.find(name);
    const bool is_renamed = renamed != edit.rename.end();
    const bool is_dropped = edit.drop.contains(name);
    const bool is_selected = edit.select && edit.select->contains(name);
    if (is_renamed || is_dropped || is_selected || edit.replaced.contains(name)) {
      found.emplace(name);
    }
    if (is_dropped || (edit.select && !is_selected)) continue;
    const std::string_view new_name = is_renamed ? std::string_view(renamed->second) : name;
    if (is_renamed) require_feature_name(new_name);
    if (!out.emplace(new_name, std::move(value)).second) {
      throw Error({.kind = ErrorKind::already_exists,
                   .reason = "two features named \"" + printable(new_name) + "\""});
    }
  }
  return out;
}

// Assembles a message from written bytes and from long values, which are not copied.
class PieceWriter {
 public:
  // Appends a Features or FeatureLists message as field `field`, or nothing for std::nullopt.
  void append_map(uint32_t field, const std::optional<Entries>& map) {
    if (!map) return;
    const Entries& entries = *map;
    size_t size = 0;
    for (const auto& [name, value] : entries) size += field_size(size_of_entry(name, value));
    append_length_header(field, size, written_);
    for (const auto& [name, value] : entries) {
      append_length_header(kFeaturesEntry, size_of_entry(name, value), written_);
      append_length_header(kEntryKey, name.size(), written_);
      written_ += name;
      append_length_header(kEntryValue, size_of(value), written_);
      for (const auto& piece : value) append(piece);
    }
  }

  EditedMessage take() {
    EditedMessage message;
    message.written = std::make_unique<const std::string>(std::move(written_));
    std::span<const std::byte> rest = std::as_bytes(std::span(*message.written));
    size_t passed = 0;
    for (const auto& [place, value] : long_values_) {
      message.pieces.push_back(rest.first(place - passed));
      message.pieces.push_back(value);
      rest = rest.subspan(place - passed);
      passed = place;
    }
    message.pieces.push_back(rest);
    return message;
  }

 private:
  static size_t size_of_entry(std::string_view name, const ValuePieces& value) {
    return field_size(name.size()) + field_size(size_of(value));
  }

  void append(std::span<const std::byte> piece) {
    if (piece.size() >= kLongValue) {
      long_values_.emplace_back(written_.size(), piece);
    } else {
      written_.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    }
  }

  std::string written_;
  // Each long value with the number of bytes of `written_` that precede the value.
  std::vector<std::pair<size_t, std::span<const std::byte>>> long_values_;
};

// Throws if an edit of the message would lose anything.
void require_editable(const MessageView& message) {
  if (message.kind() != MessageKind::example && message.kind() != MessageKind::sequence_example) {
    const std::string why = message.undecided();
    throw Error({.kind = ErrorKind::corrupted,
                 .reason = "neither an Example nor a SequenceExample (but " +
                           (why.empty() ? std::string(to_string(message.kind())) : why) + ")",
                 .hint = "only those can be edited"});
  }
  const auto field = message.unread();
  if (!field) return;
  throw Error({.kind = ErrorKind::unsupported,
               .offset = field->offset,
               .reason = "the edit would lose " + field->what,
               .hint = "only records whose bytes are all features can be edited"});
}

}  // namespace

EditedMessage edit_features(std::span<const std::byte> message, const FeatureEdit& edit) {
  static_assert(kExampleFeatures == kSequenceContext && kFeaturesEntry == kFeatureListsEntry);
  MessageView view(edit.kind);
  view.read(message);
  // (Of a message of no known kind, the reader may tell where it is malformed.)
  if (view.kind() != MessageKind::unknown) require_editable(view);
  // std::nullopt if the message has no such field. An empty field is kept, because it determines
  // the kind of the message.
  std::optional<Entries> features;
  std::optional<Entries> feature_lists;
  WireReader reader = read_example(message);
  while (!reader.done()) {
    const uint32_t tag = reader.read_tag();
    if (tag == length_delimited_tag(kExampleFeatures)) {
      if (!features) features.emplace();
      read_map(reader.read_message(), *features, check_feature);
    } else if (tag == length_delimited_tag(kSequenceFeatureLists)) {
      if (!feature_lists) feature_lists.emplace();
      read_map(reader.read_message(), *feature_lists, check_feature_list);
    } else {
      reader.skip(tag);
    }
  }
  require_editable(view);
  std::unique_ptr<const std::string> replaced;
  if (edit.replace) {
    replaced = std::make_unique<const std::string>(edit.replace(view));
    if (!features) features.emplace();
    WireReader example = read_example(std::as_bytes(std::span(*replaced)));
    while (!example.done()) {
      const uint32_t tag = example.read_tag();
      if (tag == length_delimited_tag(kExampleFeatures)) {
        read_map(example.read_message(), *features, check_feature);
      } else {
        example.skip(tag);
      }
    }
  }
  FeatureNames found;
  PieceWriter writer;
  writer.append_map(kExampleFeatures, edited(std::move(features), edit, found));
  writer.append_map(kSequenceFeatureLists, edited(std::move(feature_lists), edit, found));
  EditedMessage result = writer.take();
  result.replaced = std::move(replaced);
  result.found = std::move(found);
  return result;
}

namespace {

constexpr size_t kMaxNamesKept = 1000;
constexpr size_t kLongestName = 1000;

}  // namespace

void keep_features(MessageView& message, const FeatureNames& names) {
  if (names.empty()) return;
  message.keep_only([&](std::string_view name) { return names.contains(name); });
}

void find_names(const MessageView& message, const FeatureNames& names, FeatureNames& found) {
  for (const std::string& name : names) {
    if (found.contains(name)) continue;
    if (message.find_feature(name) || message.find_feature_list(name)) found.insert(name);
  }
}

std::string require_found(const FeatureNames& names, const FeatureNames& found,
                          const std::vector<std::string>& present, bool looked_at_all) {
  const auto missing =
      std::ranges::find_if(names, [&](const std::string& name) { return !found.contains(name); });
  if (missing == names.end()) return {};
  const bool is_present = std::ranges::find(present, *missing) != present.end();
  if (!looked_at_all && is_present) {
    return "no record that was taken has a feature named " + printable(*missing) + "; others have";
  }
  std::string reason = std::string("no record ") + (looked_at_all ? "" : "that was read ") +
                       "has a feature named " + printable(*missing) + "; " +
                       there_are(present, *missing);
  if (!looked_at_all) return reason;
  throw Error({.kind = ErrorKind::not_found, .reason = std::move(reason)});
}

void FirstNames::add(const MessageView& record) {
  if (is_full()) return;
  const std::lock_guard lock(mutex_);
  ++records_;
  for (const NamedFeature& feature : record.features()) add(feature.name);
  for (const FeatureListView& list : record.feature_lists()) add(list.name());
}

void FirstNames::add(const std::vector<std::string>& names) {
  const std::lock_guard lock(mutex_);
  for (const std::string& name : names) add(std::string_view(name));
}

void FirstNames::add(std::string_view name) {
  if (names_.size() == kMaxNamesKept || name.size() > kLongestName || names_.contains(name)) return;
  names_.emplace(name);
}

}  // namespace recordpipe
