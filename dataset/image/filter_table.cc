// The arithmetic is that of PIL's precompute_coeffs() (libImaging/Resample.c): double, in the same
// order, so that the rounded weights are equal.
#include "dataset/image/filter_table.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace recordpipe::internal {
namespace {

double triangle(double x) {
  x = std::abs(x);
  return x < 1 ? 1 - x : 0;
}

double cubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

int32_t fixed_point(double weight) {
  return static_cast<int32_t>(weight * (1 << kWeightBits) + (weight < 0 ? -0.5 : 0.5));
}

// The filter of one pixel of the result.
struct Weights {
  size_t first = 0;
  std::vector<double> values = {};
};

void find_weights(const ResizedLine& line, size_t pixel, Weights& out) {
  const double scale = line.box_size / static_cast<double>(line.to);
  const double center = line.box_begin + (static_cast<double>(pixel) + 0.5) * scale;
  if (line.resampling.interpolation == Interpolation::nearest) {
    out.first = std::min(static_cast<size_t>(center), line.from - 1);
    out.values.assign(1, 1.0);
    return;
  }
  const bool is_cubic = line.resampling.interpolation == Interpolation::bicubic;
  const double stretch = line.resampling.antialias ? std::max(scale, 1.0) : 1.0;
  const double support = (is_cubic ? 2.0 : 1.0) * stretch;
  const auto end = std::min(static_cast<size_t>(center + support + 0.5), line.from);
  out.first = static_cast<size_t>(std::max(center - support + 0.5, 0.0));
  out.values.clear();
  double sum = 0;
  for (size_t x = out.first; x < end; ++x) {
    const double at = (static_cast<double>(x) - center + 0.5) * (1 / stretch);
    out.values.push_back(is_cubic ? cubic(at) : triangle(at));
    sum += out.values.back();
  }
  for (double& value : out.values) {
    if (sum != 0) value /= sum;
  }
}

}  // namespace

void FilterTable::make(const ResizedLine& wanted) {
  line = wanted;
  Weights found;
  size_t begin = std::numeric_limits<size_t>::max();
  size_t end = 0;
  taps = 0;
  for (size_t i = 0; i < line.size; ++i) {
    find_weights(line, line.begin + i, found);
    begin = std::min(begin, found.first);
    end = std::max(end, found.first + found.values.size());
    taps = std::max(taps, found.values.size());
  }
  source_begin = begin;
  source_size = end - begin;
  first.resize(line.size);
  weights.assign(line.size * taps, 0);
  float_weights.assign(line.size * taps, 0);
  for (size_t i = 0; i < line.size; ++i) {
    find_weights(line, line.begin + (line.flip ? line.size - 1 - i : i), found);
    // Weights of 0 fill the filter up, on the side where there are pixels.
    const size_t at = std::min(found.first - begin, source_size - taps);
    first[i] = static_cast<uint32_t>(at);
    const size_t out = i * taps + (found.first - begin - at);
    std::ranges::transform(found.values, weights.data() + out, fixed_point);
    std::ranges::transform(found.values, float_weights.data() + out,
                           [](double weight) { return static_cast<float>(weight); });
  }
}

}  // namespace recordpipe::internal
