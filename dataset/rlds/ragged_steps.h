// Features whose number of values differs between steps: nested sequences, and encoded tensors of
// unknown shape.
//
// A value is decoded by the decoder of whole Examples (recordpipe/tfds/decode.h), from an Example
// with the values of this row only. So it is equal to what TFDS gives, and this file knows only
// which features an Example has for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "recordpipe/example/dict.h"
#include "recordpipe/example/example_builder.h"
#include "recordpipe/record/record.h"
#include "recordpipe/rlds/step_layout.h"
#include "recordpipe/tfds/decode.h"
#include "recordpipe/tfds/features.h"

namespace recordpipe::rlds {

// The features of an Example that hold such a feature.
struct RaggedKeys {
  std::vector<std::string> values;       // of the values, and of their shapes if these are stored
  std::vector<std::string> row_lengths;  // of the sequences, outermost first
};
// `sequences`: the number of sequences and Datasets around it.
RaggedKeys ragged_keys(const tfds::Feature& feature, const std::string& key, size_t sequences);

// The number of values of a ragged leaf in each step of the Example, of whose leaves it is one.
// Throws Error{corrupted} if its row lengths don't fit each other.
std::vector<uint64_t> ragged_counts(std::span<const std::byte> example,
                                    std::span<const StepLeaf> leaves, const StepLeaf& leaf,
                                    uint64_t steps);

// How the values of a column become a value of a row.
class RaggedColumn {
 public:
  // `lengths`: of the sequences around the feature, without the Dataset of the steps. `window`: a
  // dimension in front of them.
  RaggedColumn(std::string name, tfds::Feature feature, std::span<const int64_t> lengths,
               std::optional<size_t> window);

  // The features of the Example of a row: values, shapes, then row lengths.
  size_t features() const { return keys_.values.size() + keys_.row_lengths.size(); }

  // The values of a row.
  class Row {
   public:
    explicit Row(const RaggedColumn& column) : column_(column), values_(column.features()) {}
    // Appends a unit (step_layout.h) of the leaf to feature `number` < features(). `unit` must
    // remain valid until value(). Throws Error{corrupted}.
    void add(size_t number, std::span<const std::byte> unit, const StepLeaf& leaf);
    // The same for a place of the window without a step.
    void add_empty(size_t number, const StepLeaf& leaf);
    // `at` is the record that errors name.
    DictValue value(const Record& at) const;

   private:
    struct Values {
      FeatureKind kind = FeatureKind::int64s;
      std::vector<std::span<const std::byte>> bytes = {};
      std::vector<float> floats = {};
      std::vector<int64_t> int64s = {};
    };
    const RaggedColumn& column_;
    std::vector<Values> values_;
  };

 private:
  RaggedKeys keys_;
  tfds::ExampleDecoder decoder_;
};

}  // namespace recordpipe::rlds
