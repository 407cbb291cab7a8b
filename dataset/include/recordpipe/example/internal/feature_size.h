// What one pass over the bytes of a Feature, or of a FeatureList, finds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "recordpipe/example/example_view.h"
#include "recordpipe/example/internal/wire_reader.h"

namespace recordpipe {

struct FeatureSize {
  FeatureKind kind = FeatureKind::none;
  size_t values = 0;
  size_t bytes = 0;  // total size of bytes values
  // Whether the feature had earlier lists of another kind, whose values are replaced.
  bool replaced = false;
  // Whether it has anything that is not among the values: unknown fields, replaced lists.
  bool has_other = false;
  // The last value, so that a single value needs no second pass.
  std::span<const std::byte> last = {};  // a bytes value, or the four bytes of a float
  int64_t last_int64 = 0;

  // Adds a piece of the Feature and validates every byte of it (feature_reader.h).
  void add(WireReader piece);
};

struct FeatureListSize {
  size_t steps = 0;
  size_t values = 0;
  size_t bytes = 0;  // total size of bytes values
};

}  // namespace recordpipe
