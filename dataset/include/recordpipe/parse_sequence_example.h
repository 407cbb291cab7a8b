// SequenceExamples to columns, without an object for any of them: tf.io.parse_sequence_example.
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
// As in TensorFlow, lists of one record may differ in their numbers of steps; a list that is
// missing has none. An Example's bytes are a SequenceExample with nothing but a context. Everything
// else is as parse_example.h says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "recordpipe/example_schema.h"
#include "recordpipe/internal/example/feature_columns.h"
#include "recordpipe/internal/example/feature_list_columns.h"
#include "recordpipe/parameter.h"
#include "recordpipe/record.h"

namespace recordpipe {

class SequenceExampleBatch {
 public:
  size_t size() const { return context_.rows(); }
  const FeatureColumns& context() const { return context_; }
  const FeatureListColumns& feature_lists() const { return feature_lists_; }

 private:
  friend class SequenceExampleCollator;
  friend uint64_t heap_bytes(const SequenceExampleBatch& batch) {
    return batch.context_.heap_bytes() + batch.feature_lists_.heap_bytes() +
           batch.records_.capacity() * sizeof(Record);
  }

  FeatureColumns context_;
  FeatureListColumns feature_lists_;
  std::vector<Record> records_;  // kept until finish()
};

// ExampleCollator's counterpart: the same calls, the same errors.
class SequenceExampleCollator {
 public:
  using Batch = SequenceExampleBatch;

  explicit SequenceExampleCollator(const SequenceExampleSchema& schema);

  void reset(SequenceExampleBatch& batch, size_t rows) const;
  void set(SequenceExampleBatch& batch, size_t row, Record record) const;
  void finish(SequenceExampleBatch& batch) const;

  // The schema.
  std::vector<Parameter> parameters() const;

 private:
  std::shared_ptr<const WantedFeatures> context_;
  std::shared_ptr<const WantedFeatures> feature_lists_;
};

// A batch of all `records`, in the memory of `reuse`.
SequenceExampleBatch parse_sequence_example(std::span<const Record> records,
                                            const SequenceExampleCollator& features,
                                            SequenceExampleBatch reuse = {});
// A batch of one.
SequenceExampleBatch parse_single_sequence_example(const Record& record,
                                                   const SequenceExampleCollator& features,
                                                   SequenceExampleBatch reuse = {});

}  // namespace recordpipe
