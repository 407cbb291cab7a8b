// Names in messages: short enough to read; and the ones that a mistyped name is nearest to.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace recordpipe {

// A feature's name as people read it: printable, "" where it is empty, the first 100 bytes of one
// that is much longer.
std::string name_text(std::string_view name);

// How many letters are to be changed, added or left out to make one word of the other
// (Levenshtein).
size_t edits(std::string_view a, std::string_view b);

// Which features there are, for the end of a message: "there are label, image and 30 more", the
// ones nearest to `wanted` first; "there is label"; "there are none".
std::string there_are(std::vector<std::string> names, std::string_view wanted);

}  // namespace recordpipe
