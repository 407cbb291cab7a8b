// The leaves that ExampleCollator decodes, whole columns at a time: numbers and byte strings of a
// known shape, and lists of them, outside of Datasets. This is many times as fast as a Dict for
// each row.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "recordpipe/example/dict.h"
#include "recordpipe/example/parse_example.h"
#include "recordpipe/tfds/features.h"

namespace recordpipe::tfds {

class PlainColumns {
 public:
  explicit PlainColumns(std::vector<Leaf> leaves);

  // By the number of the leaf: whether it is one of these.
  const std::vector<bool>& are_plain() const { return are_plain_; }
  // Null if no leaf is.
  const std::optional<ExampleCollator>& collator() const { return collator_; }
  // Writes a leaf's column as DictCollator would make it, in the declared dtype.
  void write(const ExampleBatch& batch, size_t leaf, DictValue& out) const;

 private:
  std::vector<Leaf> leaves_;
  std::vector<bool> are_plain_;
  std::optional<ExampleCollator> collator_;
};

}  // namespace recordpipe::tfds
