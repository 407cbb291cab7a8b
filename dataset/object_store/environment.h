// Environment variables, as the AWS and Google tools read them; a test passes its own.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace recordpipe {

// Returns the value of a variable; "" if it is not set.
using Environment = std::function<std::string(const std::string& name)>;

// The variables of this process.
Environment process_environment();

// Whether a variable's value is "true", "yes" or "1" (case-insensitive).
bool is_true(std::string_view value);

}  // namespace recordpipe
