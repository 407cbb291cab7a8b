// Parses SequenceExamples into columns without creating message objects, like
// tf.io.parse_sequence_example.
//
//     const SequenceExampleCollator features({
//         .context = {{"label", FixedLen{FeatureKind::int64s}}},
//         .feature_lists = {{"frames", FixedLenSequence{FeatureKind::bytes}},
//                           {"words", Ragged{FeatureKind::int64s}}},
//     });
//     const SequenceExampleBatch batch = parse_sequence_example(records, features);
//     batch.context().dense<FeatureKind::int64s>("label").values     // [batch]
//     batch.feature_lists().dense<FeatureKind::bytes>("frames")      // [batch, steps]
//     batch.feature_lists().ragged<FeatureKind::int64s>("words")     // [batch, steps, words]
//
// As in TensorFlow, the lists of one record may have different numbers of steps; a missing list has
// no steps. The bytes of an Example are a SequenceExample with only a context. For everything else,
// see parse_example.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "recordpipe/base/parameter.h"
#include "recordpipe/example/example_schema.h"
#include "recordpipe/example/internal/feature_columns.h"
#include "recordpipe/record/record.h"

namespace recordpipe {

class SequenceExampleBatch {
 public:
  // The number of rows.
  size_t size() const { return context_.rows(); }
  const FeatureColumns& context() const { return context_; }
  const FeatureListColumns& feature_lists() const { return feature_lists_; }

  // As in ExampleBatch.
  void exchange_scratch(SequenceExampleBatch& other) noexcept {
    context_.exchange_scratch(other.context_);
    feature_lists_.exchange_scratch(other.feature_lists_);
    records_.swap(other.records_);
  }

 private:
  friend class SequenceExampleCollator;
  friend uint64_t heap_bytes(const SequenceExampleBatch& batch) {
    return batch.context_.heap_bytes() + batch.feature_lists_.heap_bytes() +
           batch.records_.capacity() * sizeof(Record);
  }

  FeatureColumns context_;
  FeatureListColumns feature_lists_;
  std::vector<Record> records_;  // until finish()
};

// The counterpart of ExampleCollator for SequenceExamples, with the same functions and errors.
class SequenceExampleCollator {
 public:
  using Batch = SequenceExampleBatch;

  explicit SequenceExampleCollator(const SequenceExampleSchema& schema,
                                   std::shared_ptr<UnlistedFeatures> unlisted = nullptr,
                                   OtherMessages others = OtherMessages::accept);

  void reset(SequenceExampleBatch& batch, size_t rows) const;
  void set(SequenceExampleBatch& batch, size_t row, Record record) const;
  void set(SequenceExampleBatch& batch, size_t row, Record record, const Record& next) const;
  void finish(SequenceExampleBatch& batch) const;

  // Returns the schema as text, for descriptions and saved states.
  std::vector<Parameter> parameters() const;

 private:
  std::shared_ptr<const WantedFeatures> context_;
  std::shared_ptr<const WantedFeatures> feature_lists_;
  bool of_example_lists_;
  OtherMessages others_;
};

// Parses `records` into one batch, and reuses the memory of `reuse`.
SequenceExampleBatch parse_sequence_example(std::span<const Record> records,
                                            const SequenceExampleCollator& features,
                                            SequenceExampleBatch reuse = {});
// Parses one record into a batch of one row.
SequenceExampleBatch parse_single_sequence_example(const Record& record,
                                                   const SequenceExampleCollator& features,
                                                   SequenceExampleBatch reuse = {});

}  // namespace recordpipe
