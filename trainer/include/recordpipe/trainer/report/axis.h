// Where a chart's axis begins and ends, and which numbers stand at it.
#pragma once

#include <string>
#include <vector>

namespace recordpipe {

struct Axis {
  double low = 0;
  double high = 1;  // > low
  std::vector<double> ticks = {};

  // Where `value` lies between low, 0, and high, 1.
  double place(double value) const { return (value - low) / (high - low); }
};

// An axis for values from `least` to `greatest`: it has 0 on it, and begins and ends at a tick.
// Ticks are 1, 2 or 5 times a power of ten apart, and there are at most eight. Both must be
// plottable().
Axis value_axis(double least, double greatest);

// An axis from exactly `first` to `last`, of whole numbers: for steps.
Axis step_axis(double first, double last);

// Whether a value can be drawn: finite, and not so great that the sums of a drawing overflow.
bool plottable(double value);

// "0.25", "1234", "1.2e-05": four digits, or all before the point.
std::string short_text(double value);

}  // namespace recordpipe
