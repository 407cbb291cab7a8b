// The names that braces and NAME@N in the name of an input stand for (input_files.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace recordpipe {

// Returns nullopt if `name`, a path or a URL, has neither. Backslashes that escape a character
// stay. Throws Error{limit_exceeded}, before it takes memory, for more than 1,000,000 names, or
// names of more than 256 MiB together.
std::optional<std::vector<std::string>> expand_names(const std::string& name);

}  // namespace recordpipe
