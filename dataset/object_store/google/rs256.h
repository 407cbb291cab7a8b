// Signs JSON Web Tokens with an RSA key (RS256, RFC 7518).
#pragma once

#include <string>
#include <string_view>

namespace recordpipe {

// Returns HEADER.CLAIMS.SIGNATURE. `claims` is JSON; `pem` is a private RSA key. Throws
// Error{invalid_argument} if it is none; the message does not show it.
std::string signed_jwt(std::string_view claims, const std::string& pem);

}  // namespace recordpipe
