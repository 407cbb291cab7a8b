// Infers the schema of records: their features, kinds and numbers of values.
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

#include "recordpipe/example/example_view.h"
#include "recordpipe/example/message_view.h"
#include "recordpipe/record/damaged_region.h"

namespace recordpipe {

struct InferredFeature {
  // Number of records with the feature (in a feature list: number of steps), by the feature's kind.
  // A feature without a list counts as `none`.
  std::array<uint64_t, 4> by_kind = {};  // [FeatureKind]
  // The minimum and maximum number of values of the features that have a list.
  uint64_t min_values = UINT64_MAX;
  uint64_t max_values = 0;
  bool is_text = true;  // all values of bytes are text (json_text.h)

  uint64_t count(FeatureKind kind) const { return by_kind[static_cast<size_t>(kind)]; }
  // The number of features with a list of any kind. tf.io treats a feature without a list as
  // missing.
  uint64_t with_list() const;
  // The kind of all lists; nullopt if the lists are of different kinds.
  std::optional<FeatureKind> kind() const;
  bool fixed() const { return with_list() > 0 && min_values == max_values; }

  void add(const FeatureView& feature);
  void merge(const InferredFeature& other);
};

struct InferredFeatureList {
  uint64_t records = 0;  // number of records with this feature list
  uint64_t min_steps = UINT64_MAX;
  uint64_t max_steps = 0;
  InferredFeature step = {};  // aggregated over all steps

  // The number of all steps, also of those without a list (in an ExampleListWithContext: the
  // Examples that lack the feature).
  uint64_t steps() const { return step.with_list() + step.count(FeatureKind::none); }

  void add(const FeatureListView& list);
  void merge(const InferredFeatureList& other);
};

// The records of unknown type that are undecided (MessageView::undecided()).
struct UndecidedRecords {
  uint64_t count = 0;
  std::string first = {};  // why the first of them is none

  void add(const MessageView& message);
  void merge(const UndecidedRecords& later);
};

// Merging partial schemas gives the same result as adding all records to one schema, as long as all
// names are kept.
struct InferredSchema {
  // Limits on the number of features, the number of feature lists, and the total bytes of all
  // names. Further names are counted but not kept, so memory is bounded for any input.
  static constexpr size_t kMaxNames = 20'000;
  static constexpr size_t kMaxNameBytes = size_t{4} << 20;

  uint64_t records = 0;
  std::array<uint64_t, kMessageKinds> by_kind = {};  // [MessageKind]
  UndecidedRecords undecided = {};
  uint64_t empty_records = 0;  // of 0 bytes: valid as any message
  std::map<std::string, InferredFeature, std::less<>> features = {};  // of Examples and contexts
  std::map<std::string, InferredFeatureList, std::less<>> feature_lists = {};
  size_t name_bytes = 0;  // of the kept names
  uint64_t left_out = 0;  // occurrences of features and feature lists whose names were not kept
  DamageSkipped skipped = {};

  uint64_t count(MessageKind kind) const { return by_kind[static_cast<size_t>(kind)]; }
  // The number of records that may have features: Examples, SequenceExamples and
  // ExampleListWithContexts.
  uint64_t with_features() const {
    return count(MessageKind::example) + count(MessageKind::sequence_example) +
           count(MessageKind::example_list);
  }
  // The number of values for parsers, if it is fixed (at least 1): each of the records
  // with_features(), or each step of the feature list, has a list of this length. For other
  // features of one kind, the parser's type is ragged.
  std::optional<uint64_t> fixed_values(const InferredFeature& feature) const;
  std::optional<uint64_t> fixed_values(const InferredFeatureList& list) const;
  // The kind of all non-empty records; nullopt if the records are of different kinds.
  std::optional<MessageKind> kind() const;

  // `size` is the record's size in bytes.
  void add(const MessageView& message, size_t size);
  void merge(const InferredSchema& other);
};

// Generation of source code that parses records of an inferred schema.

// Returns a C++ declaration of an ExampleSchema, or of a SequenceExampleSchema if there are feature
// lists (example_schema.h), with the required #include. A feature is FixedLen if every record has
// it with the same number of values, otherwise Ragged. Features with lists of different kinds, and
// features without a list in any record, are omitted; a comment in the code says so.
std::string schema_as_cpp(const InferredSchema& schema);

// Returns the same schema as Python dicts of recordpipe's FixedLenFeature and RaggedFeature, for
// Dataset.parse() or parse_sequence_example(); or of tf.io's, for tf.io.parse_example or
// tf.io.parse_sequence_example.
std::string schema_as_python(const InferredSchema& schema);
std::string schema_as_tensorflow(const InferredSchema& schema);

}  // namespace recordpipe
