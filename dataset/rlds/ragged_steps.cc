#include "dataset/rlds/ragged_steps.h"

#include <utility>

#include "recordpipe/base/error.h"
#include "recordpipe/example/internal/feature_reader.h"
#include "recordpipe/example/internal/plain_entry.h"

namespace recordpipe::rlds {
namespace {

[[noreturn]] void fail_corrupted(std::string reason) {
  throw Error({.kind = ErrorKind::corrupted, .reason = std::move(reason)});
}

tfds::Feature sequence_of(tfds::Feature child, tfds::FeatureClass kind, int64_t length) {
  tfds::Feature sequence;
  sequence.feature_class = kind;
  sequence.length = length;
  sequence.children.emplace_back("", std::move(child));
  return sequence;
}

// The features of the Example of a row.
tfds::Feature tree_of(const std::string& name, tfds::Feature feature,
                      std::span<const int64_t> lengths, std::optional<size_t> window) {
  for (size_t i = lengths.size(); i-- > 0;) {
    feature = sequence_of(std::move(feature), tfds::FeatureClass::sequence, lengths[i]);
  }
  if (window) {
    feature =
        sequence_of(std::move(feature), tfds::FeatureClass::dataset, static_cast<int64_t>(*window));
  }
  tfds::Feature tree;
  tree.children.emplace_back(name, std::move(feature));
  return tree;
}

}  // namespace

RaggedKeys ragged_keys(const tfds::Feature& feature, const std::string& key, size_t sequences) {
  const tfds::Leaf leaf{.feature = &feature, .path = {}, .key = key, .lengths = {}};
  RaggedKeys keys{{key}, {}};
  if (leaf.has_stored_shape()) keys.values = {key + "/value", key + "/shape"};
  if (sequences < 2) return keys;
  const std::string stem = keys.values.front();
  for (std::string& each : keys.values) each += "/ragged_flat_values";
  for (size_t level = 0; level + 1 < sequences; ++level) {
    keys.row_lengths.push_back(stem + "/ragged_row_lengths_" + std::to_string(level));
  }
  return keys;
}

std::vector<uint64_t> ragged_counts(std::span<const std::byte> example,
                                    std::span<const StepLeaf> leaves, const StepLeaf& leaf,
                                    uint64_t steps) {
  std::vector<uint64_t> counts(steps, 1);
  const auto fail = [&](const std::string& key) {
    fail_corrupted("the row lengths in feature '" + printable(key) + "' don't fit the values");
  };
  for (const size_t number : leaf.row_lengths) {
    const std::string& key = leaves[number].key;
    const auto feature = find_feature(example, key);
    const std::vector<int64_t> lengths = feature && feature->kind() == FeatureKind::int64s
                                             ? feature->int64_values()
                                             : std::vector<int64_t>();
    size_t at = 0;
    uint64_t total = 0;
    for (uint64_t& count : counts) {
      uint64_t sum = 0;
      for (uint64_t i = 0; i < count; ++i, ++at) {
        // Each value has a byte at least.
        if (at == lengths.size() || lengths[at] < 0 ||
            static_cast<uint64_t>(lengths[at]) > example.size()) {
          fail(key);
        }
        sum += static_cast<uint64_t>(lengths[at]);
      }
      count = sum;
      total += sum;
    }
    if (at != lengths.size() || total > example.size()) fail(key);
  }
  for (uint64_t& count : counts) count *= leaf.values;
  return counts;
}

RaggedColumn::RaggedColumn(std::string name, tfds::Feature feature,
                           std::span<const int64_t> lengths, std::optional<size_t> window)
    : keys_(ragged_keys(feature, name, lengths.size() + (window ? 1 : 0))),
      decoder_(tree_of(name, std::move(feature), lengths, window), {.decode_images = false}) {}

void RaggedColumn::Row::add(size_t number, std::span<const std::byte> unit, const StepLeaf& leaf) {
  Values& out = values_[number];
  out.kind = leaf.kind;
  if (leaf.kind == FeatureKind::bytes && !leaf.is_ragged) {
    out.bytes.push_back(unit);
  } else if (leaf.kind == FeatureKind::bytes) {
    GlanceReader list(unit);
    while (const auto value = list.read_bytes(kListValue)) out.bytes.push_back(*value);
    if (!list.done()) fail_corrupted("the values of a step are no list of byte strings");
  } else if (leaf.kind == FeatureKind::floats) {
    if (unit.size() % sizeof(float) != 0) fail_corrupted("the values of a step are no floats");
    for (; !unit.empty(); unit = unit.subspan(sizeof(float))) {
      out.floats.push_back(load_float(unit.data()));
    }
  } else {
    WireReader reader(unit);
    while (!reader.done()) out.int64s.push_back(static_cast<int64_t>(reader.read_varint()));
  }
}

void RaggedColumn::Row::add_empty(size_t number, const StepLeaf& leaf) {
  values_[number].kind = leaf.kind;
  if (!leaf.is_ragged) values_[number].int64s.push_back(0);  // a row length
}

DictValue RaggedColumn::Row::value(const Record& at) const {
  ExampleBuilder builder;
  for (size_t i = 0; i < values_.size(); ++i) {
    const Values& values = values_[i];
    const size_t count = column_.keys_.values.size();
    const std::string& key =
        i < count ? column_.keys_.values[i] : column_.keys_.row_lengths[i - count];
    if (values.kind == FeatureKind::bytes) {
      builder.set_bytes_list(key, values.bytes);
    } else if (values.kind == FeatureKind::floats) {
      builder.set_floats(key, values.floats);
    } else {
      builder.set_int64s(key, values.int64s);
    }
  }
  const std::string example = builder.serialize();
  Dict dict = column_.decoder_(
      {.data = std::as_bytes(std::span(example)), .offset = at.offset, .path = at.path});
  return std::move(dict.entries()[0].value);
}

}  // namespace recordpipe::rlds
