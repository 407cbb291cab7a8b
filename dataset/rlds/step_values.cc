#include "dataset/rlds/step_values.h"

#include <bit>
#include <cstring>
#include <memory>
#include <numeric>

#include "dataset/io/span_source.h"
#include "dataset/rlds/ragged_steps.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/endian.h"
#include "recordpipe/example/feature_values.h"
#include "recordpipe/image/half.h"
#include "recordpipe/io/compression.h"
#include "recordpipe/io/file.h"

namespace recordpipe::rlds {
namespace {

[[noreturn]] void refuse_count() {
  throw Error({.kind = ErrorKind::corrupted,
               .reason = "the values of a step are not as many as features.json says"});
}

[[noreturn]] void refuse_kind(const StepLeaf& leaf) {
  throw Error({.kind = ErrorKind::unsupported,
               .reason = "feature '" + printable(leaf.key) +
                         "' has values of another type or number than features.json says"});
}

void inflate_into(std::span<const std::byte> zlib, std::span<std::byte> out) {
  const auto content = inflate(std::make_unique<SpanSource>(zlib), Compression::zlib);
  std::byte beyond;
  if (read_fully(*content, out) != out.size() || content->read({&beyond, 1}) != 0) refuse_count();
}

// Calls write(U) with what tf.cast makes of `value`, as bits of the type's size.
template <class Number, class Write>
void cast(Number value, TensorType type, const Write& write) {
  switch (type) {
    case TensorType::float32:
      return write(std::bit_cast<uint32_t>(static_cast<float>(value)));
    case TensorType::float64:
      return write(std::bit_cast<uint64_t>(static_cast<double>(value)));
    case TensorType::float16:
      return write(to_float16(static_cast<float>(value)).bits);
    case TensorType::bfloat16:
      return write(to_bfloat16(static_cast<float>(value)).bits);
    case TensorType::boolean:
      return write(static_cast<uint8_t>(value != 0));
    default:
      break;
  }
  const auto bits = static_cast<uint64_t>(static_cast<int64_t>(value));
  switch (size_of(type)) {
    case 1:
      return write(static_cast<uint8_t>(bits));
    case 2:
      return write(static_cast<uint16_t>(bits));
    case 4:
      return write(static_cast<uint32_t>(bits));
    default:
      return write(bits);
  }
}

void decode_floats(std::span<const std::byte> unit, TensorType type, size_t count, std::byte* out) {
  if (unit.size() != count * sizeof(float)) refuse_count();
  if (type == TensorType::float32 && std::endian::native == std::endian::little) {
    std::memcpy(out, unit.data(), unit.size());
    return;
  }
  const size_t size = size_of(type);
  for (size_t i = 0; i < count; ++i, out += size) {
    cast(load_float(unit.data() + i * sizeof(float)), type,
         [&](auto bits) { store_little_endian(bits, out); });
  }
}

void decode_int64s(std::span<const std::byte> unit, TensorType type, size_t count, std::byte* out) {
  const size_t size = size_of(type);
  WireReader reader(unit);
  for (size_t i = 0; i < count; ++i, out += size) {
    if (reader.done()) refuse_count();
    cast(static_cast<int64_t>(reader.read_varint()), type,
         [&](auto bits) { store_little_endian(bits, out); });
  }
  if (!reader.done()) refuse_count();
}

void append_varint(uint64_t value, std::vector<std::byte>& out) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<std::byte>(value | 0x80));
  out.push_back(static_cast<std::byte>(value));
}

// Values [first, first + count) of a feature, as a unit of a ragged leaf has them.
void encode_values(const FeatureView& feature, uint64_t first, uint64_t count,
                   std::vector<std::byte>& out) {
  uint64_t number = 0;
  const auto is_wanted = [&] {
    const uint64_t at = number++;
    return at >= first && at - first < count;
  };
  for_each_value<FeatureKind::bytes>(feature, [&](std::span<const std::byte> value) {
    if (!is_wanted()) return;
    append_varint(length_delimited_tag(kListValue), out);
    append_varint(value.size(), out);
    out.insert(out.end(), value.begin(), value.end());
  });
  for_each_value<FeatureKind::floats>(feature, [&](float value) {
    if (!is_wanted()) return;
    out.resize(out.size() + sizeof(float));
    store_little_endian(std::bit_cast<uint32_t>(value), &*out.end() - sizeof(float));
  });
  for_each_value<FeatureKind::int64s>(feature, [&](int64_t value) {
    if (is_wanted()) append_varint(static_cast<uint64_t>(value), out);
  });
}

std::span<const std::byte> parse_ragged_unit(std::span<const std::byte> example,
                                             std::span<const StepLeaf> leaves, size_t leaf_number,
                                             uint64_t steps, uint64_t unit,
                                             std::vector<std::byte>& scratch) {
  const StepLeaf& leaf = leaves[leaf_number];
  scratch.clear();
  const auto feature = find_feature(example, leaf.key);
  if (!feature || feature->size() == 0) return scratch;  // an empty list may be left out
  if (feature->kind() != leaf.kind) refuse_kind(leaf);
  if (leaf.is_of_episode) {
    encode_values(*feature, 0, feature->size(), scratch);
    return scratch;
  }
  const std::vector<uint64_t> counts = ragged_counts(example, leaves, leaf, steps);
  const auto at = counts.begin() + static_cast<ptrdiff_t>(unit);
  encode_values(*feature, std::accumulate(counts.begin(), at, uint64_t{0}), *at, scratch);
  return scratch;
}

}  // namespace

void decode_unit(std::span<const std::byte> unit, const StoredAs& stored, size_t count,
                 std::byte* out) {
  if (stored.kind == FeatureKind::floats) return decode_floats(unit, stored.type, count, out);
  if (stored.kind == FeatureKind::int64s) return decode_int64s(unit, stored.type, count, out);
  const size_t size = count * size_of(stored.type);
  if (stored.encoding == tfds::Encoding::zlib) {
    inflate_into(unit, {out, size});
  } else {
    if (unit.size() != size) refuse_count();
    if (size > 0) std::memcpy(out, unit.data(), size);
  }
  if (stored.type == TensorType::boolean) {
    for (std::byte& value : std::span(out, size)) value = std::byte{value != std::byte{0}};
  }
}

std::span<const std::byte> parse_unit(std::span<const std::byte> example,
                                      std::span<const StepLeaf> leaves, size_t leaf_number,
                                      uint64_t steps, uint64_t unit,
                                      std::vector<std::byte>& scratch) {
  const StepLeaf& leaf = leaves[leaf_number];
  if (leaf.is_ragged) {
    return parse_ragged_unit(example, leaves, leaf_number, steps, unit, scratch);
  }
  const auto feature = find_feature(example, leaf.key);
  const uint64_t wanted = (leaf.is_of_episode ? 1 : steps) * leaf.values;
  if (!feature || feature->size() == 0) {
    throw Error({.kind = ErrorKind::not_found,
                 .reason = "the episode has no feature '" + printable(leaf.key) + "'"});
  }
  if (feature->kind() != leaf.kind || feature->size() != wanted) refuse_kind(leaf);
  scratch.clear();
  uint64_t number = 0;
  if (leaf.kind == FeatureKind::bytes) {
    std::span<const std::byte> found;
    for_each_value<FeatureKind::bytes>(*feature, [&](std::span<const std::byte> value) {
      if (number++ == unit) found = value;
    });
    return found;
  }
  const auto is_wanted = [&] { return number++ / leaf.values == unit; };
  for_each_value<FeatureKind::floats>(*feature, [&](float value) {
    if (!is_wanted()) return;
    scratch.resize(scratch.size() + sizeof(float));
    store_little_endian(std::bit_cast<uint32_t>(value), &*scratch.end() - sizeof(float));
  });
  for_each_value<FeatureKind::int64s>(*feature, [&](int64_t value) {
    if (is_wanted()) append_varint(static_cast<uint64_t>(value), scratch);
  });
  return scratch;
}

}  // namespace recordpipe::rlds
