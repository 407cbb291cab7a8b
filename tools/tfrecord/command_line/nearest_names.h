// What a mistyped name may have been meant to be.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace recordpipe {

// How many letters are to be changed, added or left out to make one word of the other
// (Levenshtein).
size_t edits(std::string_view a, std::string_view b);

// Which features there are, for the end of a message: "there are label, image and 30 more", the
// ones nearest to `wanted` first; "there is label"; "there are none".
std::string there_are(std::vector<std::string> names, std::string_view wanted);

}  // namespace recordpipe
