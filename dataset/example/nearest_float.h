// The rule for numbers of any source that become values of a float list: they are rounded to the
// nearest float, but a number that this would turn into an infinity or into 0 is an error.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <string_view>

namespace recordpipe {

// Returns the float nearest to `number`. Returns std::nullopt if that is an infinity although
// `number` is finite, or 0 although `number` is not.
inline std::optional<float> nearest_float(double number) {
  const auto nearest = static_cast<float>(number);
  const bool is_lost =
      (std::isinf(nearest) && !std::isinf(number)) || (nearest == 0 && number != 0);
  return is_lost ? std::nullopt : std::optional(nearest);
}

// The reason of an error for such a number: "1e39 is out of the range of float".
inline std::string out_of_float_range(std::string_view number) {
  return std::string(number) + " is out of the range of float";
}

}  // namespace recordpipe
