// Percent-encodes text exactly as Signature Version 4 requires.
#pragma once

#include <string>
#include <string_view>

namespace recordpipe {

enum class Slashes { keep, encode };

// UriEncode() of the documentation of Signature Version 4: every byte except A-Z a-z 0-9 - . _ ~ is
// written as %XX with upper-case digits, a space as %20. A slash is kept in keys and encoded in
// queries. Nothing is normalised: "a//../b" is the name of an object.
std::string uri_encode(std::string_view text, Slashes slashes);

// The inverse, also of "+" for a space: the form of keys in listings with encoding-type=url. A "%"
// without two digits stays as it is.
std::string uri_decode(std::string_view text);

}  // namespace recordpipe
