// The upper and lower cases of characters.
#pragma once

#include <vector>

#include "dataset/toolkit/selection/regex_syntax.h"

namespace recordpipe {

// Adds to `ranges` the characters that Python's re.IGNORECASE takes for the same: those with the
// same simple upper, lower or title case.
void append_other_cases(std::vector<RegexRange>& ranges);

}  // namespace recordpipe
