// MD5 (RFC 1321), of which S3 makes the ETags of objects. Not for security.
#pragma once

#include <string>
#include <string_view>

namespace recordpipe {

// Returns the 16 bytes of the digest; "" if this machine's OpenSSL has no MD5 (FIPS).
std::string md5(std::string_view data);

}  // namespace recordpipe
