// Parses dates in HTTP headers.
#pragma once

#include <ctime>
#include <optional>
#include <string_view>

namespace recordpipe {

// Seconds since 1970; empty if `text` is not a date.
std::optional<std::time_t> parse_http_date(std::string_view text);

}  // namespace recordpipe
