#include "dataset/rlds/step_candidate.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "dataset/rlds/ragged_steps.h"
#include "dataset/tfds/numbers.h"

namespace recordpipe::rlds {
namespace {

std::string joined(std::span<const std::string> names) {
  std::string path;
  for (const std::string& name : names) path += (path.empty() ? "" : "/") + name;
  return path;
}

bool has_unknown_shape(const tfds::Feature& feature) {
  return !feature.is_image() && std::ranges::count(feature.shape, tfds::kUnknown) > 0;
}

std::string problem_of(const tfds::Leaf& leaf, bool is_of_step) {
  const tfds::Feature& feature = *leaf.feature;
  if (is_of_step) {
    // TFDS can't write a missing value in a Dataset, so that optional ones are there.
    for (const int64_t length : std::span(leaf.lengths).subspan(1)) {
      if (length != tfds::kUnknown) {
        return "is a sequence of a fixed length, which TensorFlow Datasets can't read in a Dataset";
      }
    }
    if (has_unknown_shape(feature) && !leaf.is_encoded()) {
      return "has an unknown dimension and no encoding, which TensorFlow Datasets can't write in a "
             "Dataset";
    }
  } else if (feature.is_optional) {
    return "is optional, and a row has no place for what is missing";
  }
  const bool is_complex =
      feature.dtype == TensorType::complex64 || feature.dtype == TensorType::complex128;
  if (is_complex && !leaf.is_encoded()) return "is complex, without an encoding";
  if (feature.is_image()) return {};
  return std::ranges::count(feature.shape, 0) > 0 ? "has no elements" : "";
}

// The number of elements of a feature without its unknown dimensions; nothing if there are too
// many.
std::optional<size_t> elements_of(const tfds::Feature& feature) {
  size_t count = 1;
  if (feature.is_image()) return count;
  for (const int64_t size : feature.shape) {
    if (size == tfds::kUnknown) continue;
    if (__builtin_mul_overflow(count, static_cast<size_t>(size), &count) ||
        count > UINT32_MAX / 16) {
      return std::nullopt;
    }
  }
  return count;
}

// The leaves of a feature in sequences, or of unknown shape.
std::vector<StepLeaf> ragged_leaves(const tfds::Leaf& leaf, bool is_of_step) {
  const RaggedKeys keys = ragged_keys(*leaf.feature, leaf.key, leaf.lengths.size());
  std::vector<StepLeaf> made;
  std::vector<size_t> row_lengths;
  const bool in_sequence = leaf.lengths.size() > (is_of_step ? 1 : 0);
  const auto add = [&](const std::string& key, FeatureKind kind, size_t values, bool is_ragged) {
    made.push_back({.key = key,
                    .kind = kind,
                    .values = values,
                    .is_of_episode = !is_of_step,
                    .is_ragged = is_ragged || !is_of_step,
                    .row_lengths = {}});
    if (is_ragged && is_of_step) made.back().row_lengths = row_lengths;
  };
  const size_t values = keys.values.size();
  for (size_t level = 0; level < keys.row_lengths.size(); ++level) {
    row_lengths.push_back(values + level);
  }
  const FeatureKind kind =
      leaf.is_encoded() ? FeatureKind::bytes : tfds::kind_of(leaf.feature->dtype);
  add(keys.values[0], kind, leaf.is_encoded() ? 1 : *elements_of(*leaf.feature), in_sequence);
  if (values > 1) {
    add(keys.values[1], FeatureKind::int64s, leaf.feature->shape.size(), in_sequence);
  }
  row_lengths.clear();
  for (size_t level = 0; level < keys.row_lengths.size(); ++level) {
    add(keys.row_lengths[level], FeatureKind::int64s, 1, level > 0);
    row_lengths.push_back(values + level);
  }
  return made;
}

}  // namespace

Candidate candidate_of(const tfds::Leaf& leaf, const std::string& steps) {
  const tfds::Feature& feature = *leaf.feature;
  const bool is_of_step = leaf.in_dataset && leaf.path.front() == steps;
  Candidate made;
  made.path = joined(std::span(leaf.path).subspan(is_of_step ? 1 : 0));
  made.problem = problem_of(leaf, is_of_step);
  if (!made.problem.empty()) return made;
  const auto count = elements_of(feature);
  if (!count) {
    made.problem = "has too many elements";
    return made;
  }
  made.column.is_image = feature.is_image();
  made.source.is_of_episode = !is_of_step;
  made.source.count = *count;
  if (!feature.is_image()) made.column.type = feature.dtype;
  if (leaf.lengths.size() > (is_of_step ? 1 : 0) || has_unknown_shape(feature)) {
    made.column.is_ragged = true;
    made.leaves = ragged_leaves(leaf, is_of_step);
    made.feature = feature;
    made.feature.is_optional = false;
    made.lengths.assign(leaf.lengths.begin() + (is_of_step ? 1 : 0), leaf.lengths.end());
    return made;
  }
  if (!feature.is_image()) made.column.shape.assign(feature.shape.begin(), feature.shape.end());
  StepLeaf of{.key = leaf.key,
              .kind = FeatureKind::bytes,
              .values = *count,
              .is_of_episode = !is_of_step,
              .row_lengths = {}};
  if (made.column.type) {
    const bool is_encoded = feature.encoding != tfds::Encoding::none;
    of.kind = is_encoded ? FeatureKind::bytes : tfds::kind_of(made.column.type);
    of.values = is_encoded ? 1 : *count;
    made.source.stored = {*made.column.type, of.kind, feature.encoding};
  }
  made.leaves.push_back(std::move(of));
  return made;
}

}  // namespace recordpipe::rlds
