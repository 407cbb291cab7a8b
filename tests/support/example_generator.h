// Generates random encodings of Examples and SequenceExamples that use every rule of the wire
// format.
#pragma once

#include <string>

#include "tests/support/mutator.h"

namespace recordpipe {

// Generates serialised messages that a protobuf parser must accept: packed and unpacked lists,
// lists in pieces, lists of two kinds in one feature, values and keys that are repeated or missing,
// features in several messages, unknown fields and groups, and tags, lengths and varints longer
// than necessary. Half of the feature lists have the usual encoding in most of their steps.
class ExampleGenerator {
 public:
  explicit ExampleGenerator(uint64_t seed) : random_(seed) {}
  std::string example();
  std::string sequence_example();

 private:
  bool one_in(size_t n) { return random_.below(n) == 0; }
  std::string varint(uint64_t value);
  std::string tag(uint32_t field, uint32_t wire_type);
  std::string nested(uint32_t field, const std::string& content);
  std::string unknown_field(int depth);
  std::string maybe_unknown();
  std::string float_value();
  std::string int64_value();
  std::string bytes_list();
  std::string float_list();
  std::string int64_list();
  std::string feature();
  std::string feature_list();
  std::string usual_feature(uint32_t kind, size_t values);
  std::string usual_feature_list();
  std::string entry(std::string (ExampleGenerator::*value)());
  std::string features();
  std::string feature_lists();

  Mutator random_;
};

}  // namespace recordpipe
