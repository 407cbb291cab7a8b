// Reads the features of any record without copying them, for programs that do not know the records'
// type in advance.
//
//     MessageView message;
//     message.read(record.data);
//     for (const auto& [name, feature] : message.features()) ...
//
// example_view.h describes the accepted encodings and the handling of duplicates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recordpipe/example/example_view.h"

namespace recordpipe {

enum class MessageKind {
  example,           // tf.train.Example
  sequence_example,  // tf.train.SequenceExample
  event,             // TensorBoard's Event
  unknown,
  example_list,  // ExampleListWithContext (ELWC) of TensorFlow Ranking
};
inline constexpr size_t kMessageKinds = 5;

// "Example", "SequenceExample", "Event", "unknown", "ExampleListWithContext".
std::string_view to_string(MessageKind kind);
// The names of the types in options.
inline constexpr std::array<std::pair<std::string_view, MessageKind>, kMessageKinds>
    kMessageKindNames = {{{"example", MessageKind::example},
                          {"sequence_example", MessageKind::sequence_example},
                          {"elwc", MessageKind::example_list},
                          {"event", MessageKind::event},
                          {"unknown", MessageKind::unknown}}};

// Returns the message type of `record`. Serialised messages do not contain their type, and
// protobuf's parser accepts many messages as another type: it skips unknown fields. The type is
// therefore one of which every byte of the record is a known field, at every level:
//   Event                   the wall time (field 1, fixed64), and only fields of Event
//   SequenceExample         feature lists (field 2), and perhaps a context
//   Example                 features (field 1). The same bytes are also a SequenceExample without
//                           feature lists; the result is Example.
//   ExampleListWithContext  Examples (field 1), and perhaps a context (field 2)
// Features that are not empty must have an entry with a value, and no value may be replaced by a
// later one: a second feature with the same name, lists of two kinds. A record that is an Example
// but for this is `unknown`; MessageView::undecided() says why. An empty record is an Example
// without features. Never throws. Reads the whole record, which takes a few nanoseconds per value.
MessageKind message_kind(std::span<const std::byte> record);

// A field of a record that is not among its features and feature lists.
struct UnreadField {
  uint64_t offset = 0;  // in the record
  std::string what;     // "field 5 of an Example", "a second feature \"a\""
  // The field is known, but protobuf's parser replaces it by a later one, too.
  bool is_replaced = false;
};

struct NamedFeature {
  std::string_view name;
  FeatureView feature;
};

// One feature list of a SequenceExample; or one feature of an ExampleListWithContext's Examples,
// with a step for each Example (kind none where the Example lacks the feature).
class FeatureListView {
 public:
  std::string_view name() const { return name_; }
  // The number of steps.
  size_t size() const { return size_; }
  // Calls visit(step) for each step in order; a step with nothing set has kind none.
  void for_each_step(const std::function<void(const FeatureView& step)>& visit) const;

 private:
  friend class MessageView;
  FeatureListView(std::string_view name, std::span<const std::byte> entry, size_t size)
      : name_(name), entry_(entry), size_(size) {}
  FeatureListView(std::string_view name, std::span<const FeatureView> steps)
      : name_(name), steps_(steps), size_(steps.size()) {}

  std::string_view name_;
  std::span<const std::byte> entry_ = {};    // the map entry, validated
  std::span<const FeatureView> steps_ = {};  // instead, of an ExampleListWithContext
  size_t size_;
};

// Reuses its memory from record to record. Not thread-safe.
class MessageView {
 public:
  // `kind`: reads every record as this type (default: as message_kind() says), as protobuf's parser
  // does: it skips unknown fields, and a later value replaces one before it.
  explicit MessageView(std::optional<MessageKind> kind = {}) : fixed_kind_(kind) {}
  MessageView(MessageView&&) = default;
  MessageView& operator=(MessageView&&) = default;

  // Parses `record`. The results of the other functions are valid until the next call, and only as
  // long as the bytes of the record are. Never throws because of the content: a record of any other
  // type is `unknown`.
  void read(std::span<const std::byte> record);

  // Removes the features and feature lists whose names `is_wanted` does not accept.
  void keep_only(const std::function<bool(std::string_view name)>& is_wanted);

  MessageKind kind() const { return kind_; }
  // Whether the message can have features: an Example, a SequenceExample, or a list of Examples.
  bool has_features() const;
  // The features of an Example, of a SequenceExample's context or of an ExampleListWithContext's
  // context, sorted by unique name; empty for other kinds.
  std::span<const NamedFeature> features() const { return features_; }
  // The feature lists of a SequenceExample, or the features of an ExampleListWithContext's
  // Examples, sorted by unique name; empty for other kinds.
  std::span<const FeatureListView> feature_lists() const { return feature_lists_; }

  // The feature or feature list with this name; null if there is none.
  const FeatureView* find_feature(std::string_view name) const;
  const FeatureListView* find_feature_list(std::string_view name) const;

  // The first field of the record that is not among the features and feature lists, if the kind is
  // set and is one with features. (keep_only() doesn't count.)
  std::optional<UnreadField> unread() const;
  // Why the record is unknown although protobuf's parser reads features or an Event from it, or
  // would but for a key: "an Example except for field 5 of an Example (byte 20)". Empty for any
  // other record.
  std::string undecided() const;

 private:
  MessageKind find_kind();
  bool read_as(MessageKind kind);
  void read_features(std::span<const std::byte> record, MessageKind kind,
                     std::vector<NamedFeature>& out);
  void read_feature_lists();
  bool read_example_list();
  void note_replaced(const std::optional<std::string_view>& name, std::string_view what);

  std::optional<MessageKind> fixed_kind_;
  MessageKind kind_ = MessageKind::unknown;
  std::span<const std::byte> record_ = {};
  bool is_usual_ = false;                     // nothing can be unread
  std::optional<UnreadField> replaced_ = {};  // the first of several entries with one name
  std::vector<NamedFeature> features_;
  std::vector<FeatureListView> feature_lists_;
  std::vector<NamedFeature> in_example_;           // of one Example in a list
  std::vector<std::vector<FeatureView>> columns_;  // the steps of feature_lists_, of such a list
};

}  // namespace recordpipe
