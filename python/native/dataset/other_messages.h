// Finds records of other messages that parse() would take for Examples without features.
//
// A parser skips what it doesn't know: of an Event or a frame of another data set, all features are
// missing, and their default values would look like data.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "recordpipe/example/example_schema.h"
#include "recordpipe/example/parse_example.h"
#include "recordpipe/example/parse_sequence_example.h"
#include "recordpipe/record/record.h"

namespace recordpipe::python {

class OtherMessages {
 public:
  OtherMessages() = default;
  // If one of these is required, its absence is an error anyway, and nothing is looked for.
  explicit OtherMessages(const ExampleSchema& features, const FeatureListSchema& lists = {});

  // Rows 0, kEvery, ... of a batch are looked at: to keep all records until the batch is finished
  // would take time, and a file of other messages has them everywhere.
  static constexpr size_t kEvery = 64;
  // The number of records that refuse() takes for a batch of so many rows; 0: it need not be
  // called.
  size_t looked_at(size_t rows) const {
    return features_.empty() && lists_.empty() ? 0 : (rows + kEvery - 1) / kEvery;
  }

  // Throw Error{unsupported} if one of these records of the finished batch has none of the features
  // and is no Example or SequenceExample by its own bytes (message_view.h).
  void refuse(const ExampleBatch& batch, std::span<const Record> records) const;
  void refuse(const SequenceExampleBatch& batch, std::span<const Record> records) const;

 private:
  std::vector<std::string> features_;
  std::vector<std::string> lists_;
};

}  // namespace recordpipe::python
