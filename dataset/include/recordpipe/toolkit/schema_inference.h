// What features records have, found out from the records: the schema nobody wrote down.
//
//     InferredSchema schema;
//     for (...) schema.add(message);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "recordpipe/example_view.h"
#include "recordpipe/message_view.h"

namespace recordpipe {

struct InferredFeature {
  // Records that have the feature (in a feature list: steps), by its kind; none is a feature
  // without a list.
  std::array<uint64_t, 4> by_kind = {};  // [FeatureKind]
  // The numbers of values in those with a list.
  uint64_t min_values = UINT64_MAX;
  uint64_t max_values = 0;

  uint64_t count(FeatureKind kind) const { return by_kind[static_cast<size_t>(kind)]; }
  // Those with a list of whatever kind: tf.io takes a feature without one for missing.
  uint64_t with_list() const;
  // The kind of all lists; nothing where there are several.
  std::optional<FeatureKind> kind() const;
  bool fixed() const { return with_list() > 0 && min_values == max_values; }

  void add(const FeatureView& feature);
  void merge(const InferredFeature& other);
};

struct InferredFeatureList {
  uint64_t records = 0;  // that have it
  uint64_t min_steps = UINT64_MAX;
  uint64_t max_steps = 0;
  InferredFeature step = {};  // of all steps together

  void add(const FeatureListView& list);
  void merge(const InferredFeatureList& other);
};

// Merging parts gives what adding all of their records would have given, as long as all names are
// kept.
struct InferredSchema {
  // Of features and of feature lists, and of the bytes of all names together. What comes beyond is
  // counted, not kept: memory is bounded whatever the records are.
  static constexpr size_t kMostNames = 20'000;
  static constexpr size_t kMostNameBytes = size_t{4} << 20;

  uint64_t records = 0;
  std::array<uint64_t, 4> by_kind = {};  // [MessageKind]
  uint64_t empty_records = 0;            // of no bytes: an Example, and anything else
  std::map<std::string, InferredFeature, std::less<>> features = {};  // of Examples and contexts
  std::map<std::string, InferredFeatureList, std::less<>> feature_lists = {};
  size_t name_bytes = 0;  // of the names that were kept
  uint64_t left_out = 0;  // features and feature lists of records whose names were not kept

  uint64_t count(MessageKind kind) const { return by_kind[static_cast<size_t>(kind)]; }
  // The kind of all records but empty ones; nothing where there are several.
  std::optional<MessageKind> kind() const;

  // `size` is the record's, in bytes.
  void add(const MessageView& message, size_t size);
  void merge(const InferredSchema& other);
};

// An inferred schema as code that reads such records.

// A declaration of an ExampleSchema, or a SequenceExampleSchema where there are feature lists
// (example_schema.h), with the header that it takes. A feature is FixedLen where every record has
// it with as many values, else Ragged. Features whose lists are of several kinds, or always
// missing, are left out, which a comment says.
std::string schema_as_cpp(const InferredSchema& schema);

// The same as dicts of tf.io's FixedLenFeature and RaggedFeature, for tf.io.parse_example or
// tf.io.parse_sequence_example.
std::string schema_as_python(const InferredSchema& schema);

}  // namespace recordpipe
