// Parses Examples into columns without creating message objects, like tf.io.parse_example.
//
//     const ExampleCollator features(
//         {{"image", FixedLen{FeatureKind::bytes}}, {"label", FixedLen{FeatureKind::int64s}}});
//     const auto batches = tfrecord_files(paths).batch(128, DropRemainder::no, features);
//     for (const ExampleBatch& batch : batches) {
//       const auto images = batch.dense<FeatureKind::bytes>("image");
//       const auto labels = batch.dense<FeatureKind::int64s>("label");
//       for (size_t i = 0; i < batch.size(); ++i) use(images.values[i], labels.values[i]);
//     }
//
// For schemas and missing features, see example_schema.h; for columns, columns.h. The accepted
// encodings are those of protobuf's parser (example_view.h); if a key occurs more than once, the
// last one wins.
//
// A batch holds copies of all values and may outlive the records. A reused batch keeps its memory:
// once it has the size of the largest batch, nothing is allocated. A batch takes at most about 8
// bytes per byte of the records (an int64 may take one byte in a record), plus the sizes of the
// schema's shapes, and up to 16 MiB for a ragged tensor that repeats one value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "recordpipe/base/parameter.h"
#include "recordpipe/example/columns.h"
#include "recordpipe/example/example_schema.h"
#include "recordpipe/example/internal/feature_columns.h"
#include "recordpipe/example/unlisted_features.h"
#include "recordpipe/record/record.h"

namespace recordpipe {

class ExampleBatch {
 public:
  // The number of rows.
  size_t size() const { return features_.rows(); }

  // Return the column of a feature: dense() for FixedLen, ragged() for Ragged and VarLen. Both
  // functions throw Error{invalid_argument} if the schema has no feature with this name, kind and
  // form.
  template <FeatureKind kind>
  DenseColumn<kind> dense(std::string_view name) const {
    return features_.dense<kind>(name);
  }
  template <FeatureKind kind>
  RaggedColumn<kind> ragged(std::string_view name) const {
    return features_.ragged<kind>(name);
  }
  // The same for a SerializedTensor.
  TensorColumn tensor(std::string_view name) const { return features_.tensor(name); }
  // Which rows have the feature (rows without it have the default values), as a bitmap in the
  // layout of Arrow: row i has it if bit i % 8 of byte i / 8 is 1. Empty if all rows have it.
  // Throws Error{invalid_argument} if the schema has no feature with this name.
  std::vector<uint8_t> validity(std::string_view name) const { return features_.validity(name); }

  // Exchanges the memory that only the building of columns and validity() need, about 50 bytes for
  // each ragged, bytes or tensor feature of a row: for a batch that is kept, while `other` is used
  // for the next one.
  // Before the next reset(), neither batch has a validity().
  void exchange_scratch(ExampleBatch& other) noexcept {
    features_.exchange_scratch(other.features_);
    records_.swap(other.records_);
  }

  // Returns the value of a feature with FixedLen::is_view in a row. It points into the record.
  // Valid between ExampleCollator::set() of the row and finish(); throws Error{invalid_argument} if
  // the schema has no such feature.
  std::span<const std::byte> view(size_t row, std::string_view name) const {
    return features_.view(row, name);
  }

 private:
  friend class ExampleCollator;
  friend uint64_t heap_bytes(const ExampleBatch& batch) {
    return batch.features_.heap_bytes() + batch.records_.capacity() * sizeof(Record);
  }

  FeatureColumns features_;
  std::vector<Record> records_;  // until finish()
};

// Collates records into batches of columns. Use it as the collator of Dataset<Record>::batch, or
// call reset(), then set() for each row (from any number of threads at once), then finish().
// Thread-safe for different batches.
class ExampleCollator {
 public:
  using Batch = ExampleBatch;

  // Throws Error{invalid_argument} for an invalid schema: a feature without a kind, a dimension of
  // 0, a shape of 2^31 values or more, default values whose kind, number or size differs from the
  // feature's, or value_bytes for another kind than bytes or another shape than {}. `unlisted`
  // watches for what is not in the schema; default: it is ignored.
  explicit ExampleCollator(const ExampleSchema& schema,
                           std::shared_ptr<UnlistedFeatures> unlisted = nullptr,
                           OtherMessages others = OtherMessages::accept);

  // Starts a batch of `rows` rows.
  void reset(ExampleBatch& batch, size_t rows) const;
  // Parses `record` into row `row`; must be called once per row. Throws Error with the record's
  // path and offset:
  //   corrupted       the record is not an Example, or a value not a serialised tensor
  //   limit_exceeded  the record has 2 GiB or more, or a ragged tensor repeats a value too often
  //   not_found       a required feature is missing
  //   unsupported     a feature has another kind or number of values, a value another size, text
  //                   that is not UTF-8, or a tensor of another type or shape; or `unlisted`
  //                   refuses a feature or field, or the record is another message
  // After an error, the batch is empty until the next reset().
  void set(ExampleBatch& batch, size_t row, Record record) const;
  // The same; prefetches `next`, the record of the next row, into the CPU cache.
  void set(ExampleBatch& batch, size_t row, Record record, const Record& next) const;
  // Builds the columns, after all rows were set.
  void finish(ExampleBatch& batch) const;

  // Returns the schema as text, for descriptions and saved states.
  std::vector<Parameter> parameters() const;

 private:
  std::shared_ptr<const WantedFeatures> wanted_;
  OtherMessages others_;
};

// Parses `records` into one batch, and reuses the memory of `reuse`. Throws the errors of
// ExampleCollator::set.
ExampleBatch parse_example(std::span<const Record> records, const ExampleCollator& features,
                           ExampleBatch reuse = {});
// Parses one record into a batch of one row.
ExampleBatch parse_single_example(const Record& record, const ExampleCollator& features,
                                  ExampleBatch reuse = {});

}  // namespace recordpipe
