// Examples to columns, without an object for any of them: tf.io.parse_example.
//
//     const ExampleCollator features(
//         {{"image", FixedLen{FeatureKind::bytes}}, {"label", FixedLen{FeatureKind::int64s}}});
//     for (const ExampleBatch& batch : tfrecord_files(paths).batch(128, DropRemainder::no,
//     features)) {
//       const auto images = batch.dense<FeatureKind::bytes>("image");
//       const auto labels = batch.dense<FeatureKind::int64s>("label");
//       for (size_t i = 0; i < batch.size(); ++i) use(images.values[i], labels.values[i]);
//     }
//
// What a schema may ask for, and when a feature is missing: example_schema.h. What columns look
// like: columns.h. What bytes are Examples: those that protobuf's parser accepts, see
// example_view.h; of a key given twice the last one counts.
//
// A batch holds copies of all values, so it may outlive the records. Its memory is used again by
// the batch that is put in its place: once it has grown to what the largest needs, nothing is
// allocated. It takes at most some 8 bytes for each byte of the records (an int64 may be one byte
// in them), and what the schema's shapes ask for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "recordpipe/columns.h"
#include "recordpipe/example_schema.h"
#include "recordpipe/internal/example/feature_columns.h"
#include "recordpipe/parameter.h"
#include "recordpipe/record.h"

namespace recordpipe {

class ExampleBatch {
 public:
  size_t size() const { return features_.rows(); }

  // The column of a feature, by the kind and form that the schema gives it: FixedLen ones are
  // dense, Ragged and VarLen ones ragged. Throw Error{invalid_argument} for any other.
  template <FeatureKind kind>
  DenseColumn<kind> dense(std::string_view name) const {
    return features_.dense<kind>(name);
  }
  template <FeatureKind kind>
  RaggedColumn<kind> ragged(std::string_view name) const {
    return features_.ragged<kind>(name);
  }

 private:
  friend class ExampleCollator;
  friend uint64_t heap_bytes(const ExampleBatch& batch) {
    return batch.features_.heap_bytes() + batch.records_.capacity() * sizeof(Record);
  }

  FeatureColumns features_;
  std::vector<Record> records_;  // kept until finish()
};

// Makes a Dataset<Record>'s records to batches of columns (see Dataset::batch), or any records with
// reset(), set() for each row, which several threads may call at once, and finish().
class ExampleCollator {
 public:
  using Batch = ExampleBatch;

  // Throws Error{invalid_argument} for a schema that makes no sense: see wanted_features.h.
  explicit ExampleCollator(const ExampleSchema& schema);

  void reset(ExampleBatch& batch, size_t rows) const;
  // Each row once. Throws Error with the record's path and offset: corrupted where it is no
  // Example, limit_exceeded for one of 2 GiB and more; with the feature's name, not_found where it
  // is missing and has no default values, unsupported where it is of another kind or number of
  // values. After an error the batch is empty until it is reset.
  void set(ExampleBatch& batch, size_t row, Record record) const;
  void finish(ExampleBatch& batch) const;

  // The schema.
  std::vector<Parameter> parameters() const;

 private:
  std::shared_ptr<const WantedFeatures> wanted_;
};

// A batch of all `records`, in the memory of `reuse`. Throw what ExampleCollator::set throws.
ExampleBatch parse_example(std::span<const Record> records, const ExampleCollator& features,
                           ExampleBatch reuse = {});
// A batch of one.
ExampleBatch parse_single_example(const Record& record, const ExampleCollator& features,
                                  ExampleBatch reuse = {});

}  // namespace recordpipe
