// Text for an HTML page, of which nothing is ever more than text.
#pragma once

#include <string>
#include <string_view>

namespace recordpipe {

// For content and for attributes in double quotes: & < > " ' are escaped, what is not UTF-8 becomes
// U+FFFD, and control characters that HTML doesn't allow do, too.
std::string escape_html(std::string_view text);

}  // namespace recordpipe
