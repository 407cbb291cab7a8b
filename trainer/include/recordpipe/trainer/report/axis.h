// The range of a chart's axis and its tick labels.
#pragma once

#include <string>
#include <vector>

namespace recordpipe {

struct Axis {
  double low = 0;
  double high = 1;  // > low
  std::vector<double> ticks = {};

  // The position of `value` on the axis, from 0 at low to 1 at high.
  double place(double value) const { return (value - low) / (high - low); }
};

// An axis for values from `least` to `greatest`. It includes 0, and begins and ends at a tick.
// Ticks are 1, 2 or 5 times a power of ten apart; there are at most eight. Both values must be
// plottable().
Axis value_axis(double least, double greatest);

// An axis from exactly `first` to `last`, with integer ticks, for steps.
Axis step_axis(double first, double last);

// Whether a value can be drawn: finite, and small enough that sums in the drawing don't overflow.
bool plottable(double value);

// "0.25", "1234", "1.2e-05": four digits, or all digits before the decimal point.
std::string short_text(double value);

}  // namespace recordpipe
