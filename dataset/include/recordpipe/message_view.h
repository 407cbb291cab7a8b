// Any record as the features in it, read where they lie: for programs that don't know beforehand
// what they are given.
//
//     MessageView message;
//     message.read(record.data);
//     for (const auto& [name, feature] : message.features()) ...
//
// What may be in an Example, and which of several values counts: example_view.h.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/example_view.h"
#include "recordpipe/message_kind.h"

namespace recordpipe {

struct NamedFeature {
  std::string_view name;
  FeatureView feature;
};

// The steps of one of a SequenceExample's feature lists.
class FeatureListView {
 public:
  std::string_view name() const { return name_; }
  // How many steps there are.
  size_t size() const { return size_; }
  // Calls visit(feature) for each step in order; a step without a list is of kind none.
  void for_each_step(const std::function<void(const FeatureView& step)>& visit) const;

 private:
  friend class MessageView;
  FeatureListView(std::string_view name, std::span<const std::byte> entry, size_t size)
      : name_(name), entry_(entry), size_(size) {}

  std::string_view name_;
  std::span<const std::byte> entry_;  // the map entry, checked
  size_t size_;
};

// Keeps its memory from one record to the next. One thread at a time.
class MessageView {
 public:
  // What it gives afterwards is valid until the next call, and as long as the bytes. Never throws
  // for what is in them: a record that is nothing it knows is `unknown`.
  void read(std::span<const std::byte> record);

  // Forgets the features and feature lists whose names `is_wanted` doesn't take.
  void keep_only(const std::function<bool(std::string_view name)>& is_wanted);

  MessageKind kind() const { return kind_; }
  // An Example's features, or a SequenceExample's context: sorted by name, each name once. None of
  // other kinds.
  std::span<const NamedFeature> features() const { return features_; }
  // A SequenceExample's, sorted by name, each name once.
  std::span<const FeatureListView> feature_lists() const { return feature_lists_; }

  // By name; null where there is none.
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
