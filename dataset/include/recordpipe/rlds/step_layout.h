// Where the values of each step are in the record of an episode.
//
// TFDS stores an episode of RLDS as one tf.train.Example: the values of a leaf, for example
// "steps/action", are one list with those of all steps, one step after another. So the values of a
// step are found without parsing the record, once the place of the list, and of its values if their
// sizes differ, is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "recordpipe/example/example_view.h"

namespace recordpipe::rlds {

// A feature of the Examples.
struct StepLeaf {
  bool operator==(const StepLeaf&) const = default;

  std::string key;                         // of the Example: "steps/observation/image"
  FeatureKind kind = FeatureKind::floats;  // the kind of list that stores the values
  size_t values = 1;                       // in each step, or in the episode; more than 0
  bool is_of_episode = false;
  // Any number of items of `values` values each, in each step or in the episode.
  bool is_ragged = false;
  // Of a ragged leaf of the steps: the numbers of the leaves that hold the row lengths of the
  // sequences around an item, outermost first. The first of them has one value in each step.
  std::vector<size_t> row_lengths = {};
};

// Bytes of a record's data.
struct ByteRange {
  bool operator==(const ByteRange&) const = default;

  uint32_t offset = 0;
  uint32_t size = 0;
};

// Where the units of a leaf are in one record. A unit of a list of bytes is one value, without its
// length; a unit of numbers is the packed values of one step, or of the episode. A unit of a ragged
// leaf has all values of one step, or of the episode; those of bytes with their tags and lengths.
struct LeafLayout {
  enum class Form : uint32_t {
    parsed,   // the encoding is unusual: parse the record
    strided,  // unit u is `size` bytes at first + u * stride
    listed,   // unit u is at ranges[first + u]
  };

  Form form = Form::parsed;
  uint32_t size = 0;
  uint64_t first = 0;
  uint64_t stride = 0;
};

struct EpisodeLayout {
  uint64_t steps = 0;
  std::vector<LeafLayout> leaves;  // in the order of the StepLeaves
  std::vector<ByteRange> ranges;   // of the listed leaves
};

// The number of units of a leaf in an episode of `steps` steps.
constexpr uint64_t units_of(const StepLeaf& leaf, uint64_t steps) {
  const uint64_t parts = leaf.is_of_episode ? 1 : steps;
  if (leaf.is_ragged) return parts;
  return leaf.kind == FeatureKind::bytes ? parts * leaf.values : parts;
}

// Returns unit `unit` of a leaf in a record of `record_size` bytes. Nothing if the record must be
// parsed, or if the unit is not inside the record: a layout from a file is not trusted.
std::optional<ByteRange> unit_at(const LeafLayout& leaf, std::span<const ByteRange> ranges,
                                 uint64_t unit, uint64_t record_size);

// Finds the steps of an episode. `example` is the data of a record. Throws Error{corrupted} if it
// is not an Example, or if the leaves have different numbers of steps, or if row lengths don't fit
// the values; Error{not_found} without a leaf, unless there are no steps at all (TFDS may leave out
// what is empty); Error{unsupported} for a list of another kind. Takes no memory for more values
// than the record has, whatever its bytes are. A leaf of the episode that is missing, or has
// another number of values, is no error: it becomes one when it is read.
EpisodeLayout lay_out_episode(std::span<const std::byte> example, std::span<const StepLeaf> leaves);

}  // namespace recordpipe::rlds
