#include "recordpipe/trainer/report/axis.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace recordpipe {
namespace {

// The smallest of 1, 2 and 5 times a power of ten such that `most` ticks cover `range`.
double tick_distance(double range, int most) {
  const double least = range / most;
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

// The multiples of `distance` in [low, high].
std::vector<double> multiples(double distance, double low, double high) {
  std::vector<double> ticks;
  const double first = std::ceil(low / distance - 1e-9), last = std::floor(high / distance + 1e-9);
  // An integer counts: above 2^53, adding 1 to a double doesn't change it.
  for (int i = 0; first + i <= last; ++i)
    ticks.push_back((first + i) * distance + 0.0);  // 0, not -0
  return ticks;
}

}  // namespace

Axis value_axis(double least, double greatest) {
  const double low = std::min(least, 0.0);
  double high = std::max(greatest, 0.0);
  if (high - low < 1e-100) high = low + 1;
  const double distance = tick_distance(high - low, 5);
  Axis axis = {.low = std::floor(low / distance + 1e-9) * distance,
               .high = std::ceil(high / distance - 1e-9) * distance};
  axis.ticks = multiples(distance, axis.low, axis.high);
  return axis;
}

Axis step_axis(double first, double last) {
  Axis axis = {.low = first, .high = std::max(last, first + 1)};
  const double distance = std::max(1.0, tick_distance(axis.high - axis.low, 5));
  axis.ticks = multiples(distance, axis.low, axis.high);
  return axis;
}

bool plottable(double value) { return std::isfinite(value) && std::abs(value) < 1e100; }

std::string short_text(double value) {
  const double size = std::abs(value);
  if (size >= 1000 && size < 1e15) return fmt::format("{:.0f}", value);
  return fmt::format("{:.4g}", value);
}

}  // namespace recordpipe
