// Words of the command line in messages.
#pragma once

#include <string>
#include <string_view>

namespace recordpipe {

// Returns the word without the secrets of the URLs in it. A word may be a list, or have a blank in
// a password: then nothing of its URLs but the scheme is left.
std::string shown_word(std::string_view word);

}  // namespace recordpipe
