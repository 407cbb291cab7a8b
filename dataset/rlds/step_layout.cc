#include "recordpipe/rlds/step_layout.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "dataset/rlds/ragged_steps.h"
#include "recordpipe/base/error.h"
#include "recordpipe/example/internal/feature_reader.h"
#include "recordpipe/example/internal/plain_entry.h"

namespace recordpipe::rlds {
namespace {

// The values of a leaf in the usual encoding: every message once, numbers packed.
struct PlainList {
  FeatureKind kind = FeatureKind::none;
  std::span<const std::byte> values;  // packed numbers, or a list with only bytes values
};

std::optional<PlainList> read_plain_list(std::span<const std::byte> feature) {
  for (uint32_t field = kFeatureBytesList; field <= kFeatureInt64List; ++field) {
    const auto list = GlanceReader(feature).read_last(field);
    if (!list) continue;
    const auto kind = static_cast<FeatureKind>(field);
    if (kind == FeatureKind::bytes || list->empty()) return PlainList{kind, *list};
    const auto values = GlanceReader(*list).read_last(kListValue);
    if (!values) return std::nullopt;
    return PlainList{kind, *values};
  }
  return std::nullopt;
}

// What is known of a leaf after the pass over the record.
struct FoundLeaf {
  FeatureKind kind = FeatureKind::none;
  uint64_t values = 0;
  size_t entries = 0;  // map entries with the key; more than one: the last one wins
  std::optional<PlainList> list;
};

class Layouter {
 public:
  Layouter(std::span<const std::byte> example, std::span<const StepLeaf> leaves)
      : example_(example), leaves_(leaves) {}

  EpisodeLayout run() {
    find_leaves();
    layout_.steps = count_steps();
    for (size_t i = 0; i < leaves_.size(); ++i) layout_.leaves.push_back(place(i));
    return std::move(layout_);
  }

 private:
  void find_leaves() {
    found_.resize(leaves_.size());
    std::unordered_map<std::string_view, size_t> numbers;
    for (size_t i = 0; i < leaves_.size(); ++i) numbers[leaves_[i].key] = i;
    // Validates the Example, and counts the values as the parser of Examples does.
    read_messages(read_example(example_), kExampleFeatures, [&](WireReader features) {
      const auto visit = [&](std::string_view key, std::span<const std::byte> entry,
                             const FeatureSize& size) {
        const auto at = numbers.find(key);
        if (at == numbers.end()) return;
        FoundLeaf& leaf = found_[at->second];
        leaf.kind = size.kind;
        leaf.values = size.values;
        ++leaf.entries;
        GlanceReader fields(entry);
        leaf.list.reset();
        if (!fields.read_bytes(kEntryKey)) return;
        if (const auto value = fields.read_last(kEntryValue)) leaf.list = read_plain_list(*value);
      };
      read_features(features, visit);
    });
  }

  uint64_t count_steps() const {
    std::optional<uint64_t> steps;
    const StepLeaf* counted = nullptr;
    for (size_t i = 0; i < leaves_.size(); ++i) {
      const StepLeaf& leaf = leaves_[i];
      const FoundLeaf& found = found_[i];
      if (leaf.is_of_episode || leaf.is_ragged) continue;
      if (found.values > 0 && found.kind != leaf.kind) {
        throw Error({.kind = ErrorKind::unsupported,
                     .reason = "feature '" + printable(leaf.key) +
                               "' has values of another type than features.json says"});
      }
      if (found.values % leaf.values != 0) {
        throw Error({.kind = ErrorKind::corrupted,
                     .reason = "feature '" + printable(leaf.key) + "' has " +
                               std::to_string(found.values) + " values, no multiple of the " +
                               std::to_string(leaf.values) + " of a step"});
      }
      const uint64_t count = found.values / leaf.values;
      if (steps && count != *steps) {
        if (found.entries == 0) throw missing(leaf);
        if (found_[static_cast<size_t>(counted - leaves_.data())].entries == 0) {
          throw missing(*counted);
        }
        throw Error({.kind = ErrorKind::corrupted,
                     .reason = "feature '" + printable(leaf.key) + "' has " +
                               std::to_string(count) + " steps, and '" + printable(counted->key) +
                               "' has " + std::to_string(*steps)});
      }
      steps = count;
      counted = &leaf;
    }
    return steps.value_or(0);
  }

  static Error missing(const StepLeaf& leaf) {
    return Error({.kind = ErrorKind::not_found,
                  .reason = "the episode has no feature '" + printable(leaf.key) + "'"});
  }

  LeafLayout place(size_t number) {
    const StepLeaf& leaf = leaves_[number];
    const FoundLeaf& found = found_[number];
    const uint64_t parts = leaf.is_of_episode ? 1 : layout_.steps;
    if (parts == 0) return {.form = LeafLayout::Form::strided};
    if (leaf.is_ragged) return place_ragged(leaf, found);
    if (found.entries != 1 || !found.list || found.kind != leaf.kind ||
        found.values != parts * leaf.values) {
      return {};
    }
    const std::span<const std::byte> values = found.list->values;
    if (leaf.kind == FeatureKind::floats) {
      const size_t size = leaf.values * sizeof(float);
      return strided(offset_of(values), size, size);
    }
    if (leaf.kind == FeatureKind::int64s && values.size() == found.values) {
      return strided(offset_of(values), leaf.values, leaf.values);  // varints of one byte
    }
    std::vector<ByteRange> units =
        leaf.kind == FeatureKind::bytes ? bytes_units(values) : varint_units(values, leaf.values);
    if (units.size() != units_of(leaf, layout_.steps)) return {};
    return listed(units);
  }

  LeafLayout place_ragged(const StepLeaf& leaf, const FoundLeaf& found) {
    const std::vector<uint64_t> counts =
        leaf.is_of_episode ? std::vector<uint64_t>{found.values}
                           : ragged_counts(example_, leaves_, leaf, layout_.steps);
    const uint64_t total = std::accumulate(counts.begin(), counts.end(), uint64_t{0});
    if (total != found.values) {
      throw Error({.kind = ErrorKind::corrupted,
                   .reason = "feature '" + printable(leaf.key) + "' has " +
                             std::to_string(found.values) + " values, and row lengths for " +
                             std::to_string(total)});
    }
    if (total == 0) return {.form = LeafLayout::Form::strided};  // of no bytes
    if (found.entries != 1 || !found.list || found.kind != leaf.kind) return {};
    std::vector<ByteRange> units;
    std::span<const std::byte> left = found.list->values;
    for (const uint64_t count : counts) {
      const auto size = size_of_values(left, leaf.kind, count);
      if (!size) return {};
      units.push_back({offset_of(left), static_cast<uint32_t>(*size)});
      left = left.subspan(*size);
    }
    return left.empty() ? listed(units) : LeafLayout{};
  }

  // The bytes of the first `count` values; nothing if the encoding is unusual.
  static std::optional<size_t> size_of_values(std::span<const std::byte> list, FeatureKind kind,
                                              uint64_t count) {
    if (kind == FeatureKind::floats) {
      const size_t size = count * sizeof(float);
      return size <= list.size() ? std::optional(size) : std::nullopt;
    }
    if (kind == FeatureKind::int64s) {
      WireReader reader(list);
      for (uint64_t i = 0; i < count; ++i) {
        if (reader.done()) return std::nullopt;
        reader.read_varint();
      }
      return list.size() - reader.rest().size();
    }
    GlanceReader reader(list);
    for (uint64_t i = 0; i < count; ++i) {
      if (!reader.read_bytes(kListValue)) return std::nullopt;
    }
    return list.size() - reader.rest().size();
  }

  uint32_t offset_of(std::span<const std::byte> part) const {
    return static_cast<uint32_t>(part.data() - example_.data());
  }

  static LeafLayout strided(uint64_t first, uint64_t stride, size_t size) {
    return {.form = LeafLayout::Form::strided,
            .size = static_cast<uint32_t>(size),
            .first = first,
            .stride = stride};
  }

  LeafLayout listed(const std::vector<ByteRange>& units) {
    // Values of one size, such as the text of an instruction, need no list.
    const uint64_t stride = units.size() > 1 ? units[1].offset - units[0].offset : 0;
    bool regular = true;
    for (size_t i = 0; i < units.size() && regular; ++i) {
      regular = units[i].size == units[0].size && units[i].offset == units[0].offset + i * stride;
    }
    if (regular) return strided(units[0].offset, stride, units[0].size);
    const LeafLayout leaf{.form = LeafLayout::Form::listed, .first = layout_.ranges.size()};
    layout_.ranges.insert(layout_.ranges.end(), units.begin(), units.end());
    return leaf;
  }

  // Fewer units than there are: the encoding is unusual.
  std::vector<ByteRange> bytes_units(std::span<const std::byte> list) const {
    std::vector<ByteRange> units;
    GlanceReader values(list);
    while (const auto value = values.read_bytes(kListValue)) {
      units.push_back({offset_of(*value), static_cast<uint32_t>(value->size())});
    }
    if (!values.done()) units.clear();
    return units;
  }

  std::vector<ByteRange> varint_units(std::span<const std::byte> packed, size_t values) const {
    std::vector<ByteRange> units;
    WireReader reader(packed);
    while (!reader.done()) {
      const std::span<const std::byte> from = reader.rest();
      for (size_t i = 0; i < values && !reader.done(); ++i) reader.read_varint();
      units.push_back({offset_of(from), static_cast<uint32_t>(from.size() - reader.rest().size())});
    }
    return units;
  }

  std::span<const std::byte> example_;
  std::span<const StepLeaf> leaves_;
  std::vector<FoundLeaf> found_;
  EpisodeLayout layout_;
};

}  // namespace

std::optional<ByteRange> unit_at(const LeafLayout& leaf, std::span<const ByteRange> ranges,
                                 uint64_t unit, uint64_t record_size) {
  ByteRange range;
  switch (leaf.form) {
    case LeafLayout::Form::strided: {
      uint64_t distance = 0;
      uint64_t offset = 0;
      if (__builtin_mul_overflow(unit, leaf.stride, &distance) ||
          __builtin_add_overflow(leaf.first, distance, &offset) || offset > record_size) {
        return std::nullopt;
      }
      range = {static_cast<uint32_t>(offset), leaf.size};
      break;
    }
    case LeafLayout::Form::listed:
      if (leaf.first > ranges.size() || unit >= ranges.size() - leaf.first) return std::nullopt;
      range = ranges[leaf.first + unit];
      break;
    default:
      return std::nullopt;
  }
  if (uint64_t{range.offset} + range.size > record_size) return std::nullopt;
  return range;
}

EpisodeLayout lay_out_episode(std::span<const std::byte> example,
                              std::span<const StepLeaf> leaves) {
  return Layouter(example, leaves).run();
}

}  // namespace recordpipe::rlds
