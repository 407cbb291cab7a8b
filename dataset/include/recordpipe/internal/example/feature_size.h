// What a Feature holds, as one walk over its bytes finds it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "recordpipe/example_view.h"

namespace recordpipe {

class WireReader;

struct FeatureSize {
  FeatureKind kind = FeatureKind::none;
  size_t values = 0;
  size_t bytes = 0;  // in all values together, where they are bytes
  // Lists of another kind came before, and what they held doesn't count.
  bool replaced = false;
  // The last value, so that a single one needs no second walk.
  std::span<const std::byte> last = {};  // of bytes, or the four of a float
  int64_t last_int64 = 0;

  // Adds a piece of the Feature, of which every byte is walked, for the errors (feature_reader.h).
  void add(WireReader piece);
};

}  // namespace recordpipe
