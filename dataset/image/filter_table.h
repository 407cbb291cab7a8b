// The weights of a one-dimensional filter: which pixels, and how much of each, make a pixel of the
// resized row or column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "recordpipe/image/resize.h"

namespace recordpipe::internal {

// One dimension of `Resized`.
struct ResizedLine {
  size_t from = 0;       // pixels
  double box_begin = 0;  // of them: what becomes `to`
  double box_size = 0;
  size_t to = 0;
  size_t begin = 0;  // the window
  size_t size = 0;
  bool flip = false;
  Resampling resampling = {};
  bool operator==(const ResizedLine&) const = default;
};

// Weights are fixed-point numbers, rounded as in PIL. A sum of weighted values from 0 to 255 fits
// in 32 bits: the absolute weights of the cubic filter add up to less than 1.3.
constexpr int kWeightBits = 22;

struct FilterTable {
  ResizedLine line = {};
  size_t source_begin = 0;  // the pixels [source_begin, source_begin + source_size) are read
  size_t source_size = 0;
  size_t taps = 0;                        // weights of each pixel; at most source_size
  std::vector<uint32_t> first = {};       // [line.size], counted from source_begin
  std::vector<int32_t> weights = {};      // [line.size, taps]
  std::vector<float> float_weights = {};  // the same

  // Makes the table, in the order of the (mirrored) window. Reuses memory.
  void make(const ResizedLine& wanted);
};

}  // namespace recordpipe::internal
