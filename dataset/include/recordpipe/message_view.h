// Reads the features of any record without copying them, for programs that do not know the records'
// type in advance.
//
//     MessageView message;
//     message.read(record.data);
//     for (const auto& [name, feature] : message.features()) ...
//
// example_view.h describes the accepted encodings and the handling of duplicates.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/example_view.h"

namespace recordpipe {

enum class MessageKind {
  example,           // tf.train.Example
  sequence_example,  // tf.train.SequenceExample
  event,             // TensorBoard's Event
  unknown,
};

// "Example", "SequenceExample", "Event", "unknown".
std::string_view to_string(MessageKind kind);

// Returns the message type of `record`. Serialised messages do not contain their type, and
// protobuf's parser accepts many messages as another type. The type is therefore determined by
// distinctive fields:
//   Event            the wall time (field 1, fixed64), and only fields of Event
//   SequenceExample  valid feature lists (field 2), and a valid context if there is one
//   Example          valid features (field 1). The same bytes are also a SequenceExample without
//                    feature lists; the result is Example.
// Features and feature lists that are not empty must have an entry. An empty record is an Example
// without features. Never throws. Reads the whole record, which takes a few nanoseconds per value.
MessageKind message_kind(std::span<const std::byte> record);

struct NamedFeature {
  std::string_view name;
  FeatureView feature;
};

// One feature list of a SequenceExample.
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

  std::string_view name_;
  std::span<const std::byte> entry_;  // the map entry, validated
  size_t size_;
};

// Reuses its memory from record to record. Not thread-safe.
class MessageView {
 public:
  // Parses `record`. The results of the other functions are valid until the next call, and only as
  // long as the bytes of the record are. Never throws because of the content: a record of any other
  // type is `unknown`.
  void read(std::span<const std::byte> record);

  // Removes the features and feature lists whose names `is_wanted` does not accept.
  void keep_only(const std::function<bool(std::string_view name)>& is_wanted);

  MessageKind kind() const { return kind_; }
  // The features of an Example or of a SequenceExample's context, sorted by unique name; empty for
  // other kinds.
  std::span<const NamedFeature> features() const { return features_; }
  // The feature lists of a SequenceExample, sorted by unique name; empty for other kinds.
  std::span<const FeatureListView> feature_lists() const { return feature_lists_; }

  // The feature or feature list with this name; null if there is none.
  const FeatureView* find_feature(std::string_view name) const;
  const FeatureListView* find_feature_list(std::string_view name) const;

 private:
  bool read_features(std::span<const std::byte> record);
  bool read_feature_lists(std::span<const std::byte> record);

  MessageKind kind_ = MessageKind::unknown;
  std::vector<NamedFeature> features_;
  std::vector<FeatureListView> feature_lists_;
};

}  // namespace recordpipe
