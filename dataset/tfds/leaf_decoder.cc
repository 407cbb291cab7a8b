#include "dataset/tfds/leaf_decoder.h"

#include <algorithm>
#include <utility>

#include "dataset/tfds/encoded_values.h"
#include "dataset/tfds/image_arrays.h"
#include "dataset/tfds/numbers.h"
#include "dataset/tfds/shapes.h"
#include "recordpipe/base/error.h"
#include "recordpipe/example/feature_values.h"

namespace recordpipe::tfds {
namespace {

[[noreturn]] void fail(ErrorKind kind, const std::string& reason, const std::string& hint = {}) {
  throw Error({.kind = kind, .reason = reason, .hint = hint});
}

std::string_view name_of(FeatureKind kind) {
  return kind == FeatureKind::bytes    ? "byte strings"
         : kind == FeatureKind::floats ? "floats"
         : kind == FeatureKind::int64s ? "int64s"
                                       : "nothing";
}

// Missing features, and Features with nothing set, have no values.
bool is_absent(const std::optional<FeatureView>& feature) {
  return !feature || feature->kind() == FeatureKind::none;
}

void check_kind(const FeatureView& feature, FeatureKind kind) {
  if (feature.kind() == kind) return;
  fail(ErrorKind::unsupported, "the Example has " + std::string(name_of(feature.kind())) +
                                   " where features.json has " + std::string(name_of(kind)));
}

std::vector<int64_t> int64s_of(const std::optional<FeatureView>& feature) {
  if (is_absent(feature)) return {};
  check_kind(*feature, FeatureKind::int64s);
  return feature->int64_values();
}

size_t unknowns(std::span<const int64_t> shape) {
  return static_cast<size_t>(std::ranges::count(shape, kUnknown));
}

}  // namespace

LeafDecoder::LeafDecoder(Leaf leaf, bool decode, const ExampleOptions& options, size_t first_key)
    : leaf_(std::move(leaf)),
      keep_encoded_(leaf_.feature->is_image() && !decode),
      options_(options),
      first_key_(first_key) {
  const Feature& feature = *leaf_.feature;
  const auto refuse = [&](const std::string& reason) {
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = "feature \"" + printable(leaf_.key) + "\": " + reason});
  };
  std::vector<int64_t> shape = leaf_.lengths;
  if (!leaf_.is_encoded()) {
    shape.insert(shape.end(), feature.shape.begin(), feature.shape.end());
    const bool is_known = is_ragged() ? unknowns(feature.shape) == 0 : unknowns(shape) <= 1;
    if (!is_known) refuse("an unknown dimension inside of a sequence needs an encoding");
  }
}

std::vector<std::string> LeafDecoder::keys() const {
  const std::string& key = leaf_.key;
  if (is_ragged()) {
    const std::vector<std::string> stems =
        leaf_.has_stored_shape() ? std::vector<std::string>{key + "/value", key + "/shape"}
                                 : std::vector<std::string>{key};
    std::vector<std::string> keys;
    for (const std::string& stem : stems) keys.push_back(stem + "/ragged_flat_values");
    for (size_t level = 0; level + 1 < leaf_.lengths.size(); ++level) {
      keys.push_back(stems.front() + "/ragged_row_lengths_" + std::to_string(level));
    }
    return keys;
  }
  if (leaf_.has_stored_shape()) return {key + "/value", key + "/shape"};
  return {key};
}

std::vector<int64_t> LeafDecoder::declared_shape() const {
  std::vector<int64_t> shape = leaf_.lengths;
  if (!keep_encoded_) {
    shape.insert(shape.end(), leaf_.feature->shape.begin(), leaf_.feature->shape.end());
  }
  return shape;
}

Stacking LeafDecoder::stacking() const {
  const std::vector<int64_t> shape = declared_shape();
  const size_t count = unknowns(shape);
  if (count == 0) return Stacking::dense;
  return count == 1 && shape.front() == kUnknown ? Stacking::ragged : Stacking::list;
}

bool LeafDecoder::is_missing(const FoundFeatures& found) const {
  const size_t count = leaf_.has_stored_shape() ? 2 : 1;
  for (size_t key = 0; key < count; ++key) {
    if (!is_absent(feature(found, key))) return false;
  }
  return true;
}

DictValue LeafDecoder::decode(const FoundFeatures& found) const {
  const bool is_optional = leaf_.feature->is_optional && leaf_.lengths.empty();
  const bool absent = is_optional && is_missing(found);
  DictValue value = absent ? missing() : decode_present(found);
  if (is_optional && options_.missing == MissingValues::mask) {
    value.is_optional = true;
    value.is_missing = absent;
  }
  return value;
}

DictValue LeafDecoder::missing() const {
  std::vector<size_t> shape;
  std::vector<int64_t> declared = declared_shape();
  for (int64_t& dimension : declared) {
    if (dimension == kUnknown) dimension = 0;
    shape.push_back(static_cast<size_t>(dimension));
  }
  const std::optional<TensorType> dtype = leaf_.feature->dtype;
  const size_t width = dtype ? size_of(*dtype) : sizeof(int64_t);
  const uint64_t size = known_size(declared, width, options_.max_bytes);
  if (!dtype) {
    BytesArray strings;
    strings.splits.assign(size + 1, 0);
    strings.shape = std::move(shape);
    return DictValue(std::move(strings), stacking());
  }
  Array array{*dtype, std::move(shape)};
  array.bytes.resize(size * width);
  if (options_.missing == MissingValues::fill) write_least(*dtype, array.bytes);
  return DictValue(std::move(array), stacking());
}

DictValue LeafDecoder::decode_present(const FoundFeatures& found) const {
  if (is_ragged()) return ragged(found);
  if (leaf_.is_encoded() && !keep_encoded_) return encoded(found);
  return plain(feature(found, 0), declared_shape());
}

DictValue LeafDecoder::plain(const std::optional<FeatureView>& feature,
                             const std::vector<int64_t>& declared) const {
  std::optional<TensorType> dtype;
  if (!keep_encoded_) dtype = leaf_.feature->dtype;
  const bool absent = is_absent(feature);
  if (absent && unknowns(declared) == 0) fail(ErrorKind::not_found, "it is missing");
  if (!absent) check_kind(*feature, kind_of(dtype));
  const size_t count = absent ? 0 : feature->size();
  std::vector<size_t> shape = completed_shape(declared, count);
  if (!dtype) {
    BytesArray strings;
    strings.shape = std::move(shape);
    strings.splits.reserve(count + 1);
    if (!absent) {
      for_each_value<FeatureKind::bytes>(*feature, [&](auto value) { strings.append(value); });
    }
    return DictValue(std::move(strings), stacking());
  }
  Array array{*dtype, std::move(shape)};
  array.bytes.resize(count * size_of(*dtype));
  if (!absent) write_numbers(*feature, *dtype, array.bytes);
  return DictValue(std::move(array), stacking());
}

uint64_t LeafDecoder::max_bytes() const {
  const Feature& feature = *leaf_.feature;
  if (!feature.is_image()) return options_.max_bytes;
  const uint64_t pixel = size_of(*feature.dtype) * static_cast<uint64_t>(feature.shape[2]);
  return max_bytes_of_images(options_, pixel);
}

std::vector<size_t> LeafDecoder::append(std::span<const std::byte> value,
                                        std::span<const int64_t> shape, uint64_t used,
                                        internal::AlignedVector<std::byte>& out) const {
  const Feature& feature = *leaf_.feature;
  const uint64_t left = max_bytes() - std::min(used, max_bytes());
  if (feature.is_image()) return append_image(feature, value, options_, left, out);
  return append_tensor(feature, value, shape, left, out);
}

void LeafDecoder::check_bytes(uint64_t bytes) const {
  if (bytes <= max_bytes()) return;
  fail(ErrorKind::limit_exceeded, "more than " + std::to_string(max_bytes()) + " bytes of values");
}

DictValue LeafDecoder::items(const std::vector<std::span<const std::byte>>& values,
                             const std::vector<int64_t>& shapes) const {
  const Feature& feature = *leaf_.feature;
  const size_t rank = leaf_.has_stored_shape() ? feature.shape.size() : 0;
  if (shapes.size() != values.size() * rank) {
    fail(ErrorKind::unsupported, std::to_string(values.size()) + " values, and " +
                                     std::to_string(shapes.size()) + " dimensions of their shapes");
  }
  const auto shape_of = [&](size_t i) { return std::span(shapes).subspan(i * rank, rank); };
  if (leaf_.in_dataset && unknowns(feature.shape) > 0) {
    DictValue::List list;
    uint64_t bytes = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      check_bytes(bytes);
      Array array{*feature.dtype, {}};
      array.shape = append(values[i], shape_of(i), bytes, array.bytes);
      bytes += array.bytes.size();
      list.emplace_back(std::move(array), Stacking::list);
    }
    return DictValue(std::move(list));
  }
  Array all{*feature.dtype, {}};
  if (values.empty()) {  // as TFDS, unknown dimensions are 0
    for (const int64_t dimension : feature.shape) {
      all.shape.push_back(dimension == kUnknown ? 0 : static_cast<size_t>(dimension));
    }
  }
  for (size_t i = 0; i < values.size(); ++i) {
    check_bytes(all.bytes.size());
    std::vector<size_t> shape = append(values[i], shape_of(i), all.bytes.size(), all.bytes);
    if (i == 0 && all.bytes.size() <= options_.max_bytes / values.size()) {
      all.bytes.reserve(values.size() * all.bytes.size());
    }
    if (i > 0 && shape != all.shape) {
      fail(ErrorKind::unsupported,
           "values of the shapes " + shape_text(all.shape) + " and " + shape_text(shape) +
               " in one sequence",
           feature.is_image() ? "resize or crop the images to one size, or don't decode them" : "");
    }
    all.shape = std::move(shape);
  }
  all.shape.insert(all.shape.begin(), values.size());
  return DictValue(std::move(all), stacking());
}

DictValue LeafDecoder::encoded(const FoundFeatures& found) const {
  const std::optional<FeatureView>& values = feature(found, 0);
  const bool absent = is_absent(values);
  if (absent && (!is_sequence() || leaf_.lengths.front() != kUnknown)) {
    fail(ErrorKind::not_found, "it is missing");
  }
  if (!absent) check_kind(*values, FeatureKind::bytes);
  const std::vector<int64_t> shapes =
      leaf_.has_stored_shape() ? int64s_of(feature(found, 1)) : std::vector<int64_t>();
  const size_t count = absent ? 0 : values->size();
  completed_shape(leaf_.lengths, count);  // checks the number
  const std::vector<std::span<const std::byte>> bytes =
      absent ? std::vector<std::span<const std::byte>>() : values->bytes_values();
  if (is_sequence()) return items(bytes, shapes);
  Array array{*leaf_.feature->dtype, {}};
  array.shape = append(bytes.front(), shapes, 0, array.bytes);
  return DictValue(std::move(array), stacking());
}

DictValue LeafDecoder::ragged(const FoundFeatures& found) const {
  RaggedArray all;
  const size_t value_keys = leaf_.has_stored_shape() ? 2 : 1;
  size_t rows = 0;
  for (size_t level = 0; level + 1 < leaf_.lengths.size(); ++level) {
    const std::vector<int64_t> lengths = int64s_of(feature(found, value_keys + level));
    const bool fits = level == 0 ? leaf_.lengths[0] == kUnknown ||
                                       static_cast<uint64_t>(leaf_.lengths[0]) == lengths.size()
                                 : lengths.size() == rows;
    auto& splits = all.splits.emplace_back(1, 0);
    rows = 0;
    bool is_valid = fits;
    for (const int64_t length : lengths) {
      is_valid = is_valid && length >= 0 &&
                 (leaf_.lengths[level + 1] == kUnknown || leaf_.lengths[level + 1] == length);
      size_t sum = 0;
      is_valid = is_valid && !__builtin_add_overflow(rows, static_cast<size_t>(length), &sum) &&
                 sum <= size_t{INT64_MAX};
      rows = sum;
      splits.push_back(static_cast<int64_t>(rows));
    }
    if (!is_valid) {
      fail(ErrorKind::corrupted, "its row lengths of level " + std::to_string(level) +
                                     " don't fit the level above or the declared lengths");
    }
  }
  const auto keep = [&](DictValue values) {
    if (Array* array = values.get_if<Array>()) {
      all.values = std::move(*array);
    } else if (BytesArray* strings = values.get_if<BytesArray>()) {
      all.values = std::move(*strings);
    } else {
      fail(ErrorKind::unsupported, "values of different shapes in nested sequences");
    }
  };
  const std::optional<FeatureView>& values = feature(found, 0);
  std::vector<int64_t> declared{kUnknown};
  if (leaf_.is_encoded() && !keep_encoded_) {
    if (!is_absent(values)) check_kind(*values, FeatureKind::bytes);
    const std::vector<int64_t> shapes =
        leaf_.has_stored_shape() ? int64s_of(feature(found, 1)) : std::vector<int64_t>();
    keep(items(
        is_absent(values) ? std::vector<std::span<const std::byte>>() : values->bytes_values(),
        shapes));
  } else {
    if (!keep_encoded_) {
      declared.insert(declared.end(), leaf_.feature->shape.begin(), leaf_.feature->shape.end());
    }
    keep(plain(values, declared));
  }
  const size_t count = std::visit([](const auto& held) { return held.shape.front(); }, all.values);
  if (count != rows) {
    fail(ErrorKind::corrupted,
         std::to_string(count) + " values, and rows for " + std::to_string(rows));
  }
  return DictValue(std::move(all));
}

}  // namespace recordpipe::tfds
