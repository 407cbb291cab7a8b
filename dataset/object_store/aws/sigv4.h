// Signs requests with AWS Signature Version 4 (algorithm AWS4-HMAC-SHA256, in the header
// Authorization).
//
// Described in "Create a signed AWS API request" of the AWS IAM User Guide and in "Authenticating
// Requests: Using the Authorization Header" of the Amazon S3 API Reference. As S3 requires, the
// path is encoded once and not normalised.
#pragma once

#include <array>
#include <cstddef>
#include <ctime>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace recordpipe {

// The SHA-256 of an empty body.
inline constexpr std::string_view kEmptySha256 =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

// In hexadecimal.
std::string sha256_of(std::string_view text);

// HMAC-SHA256 (RFC 2104).
std::array<std::byte, 32> hmac_sha256(std::span<const std::byte> key, std::string_view text);

struct SigV4Request {
  std::string method = "GET";
  std::string path = "/";  // as sent: percent-encoded by uri_encode()
  // Not encoded.
  std::vector<std::pair<std::string, std::string>> query = {};
  // All headers that are signed, Host included.
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string payload_sha256 = std::string(kEmptySha256);
};

// Who signs, and what for.
struct SigV4Scope {
  std::string access_key = {};
  std::string secret_key = {};
  std::string region = {};
  std::string service = "s3";
};

// The query of a request: sorted and encoded, without "?".
std::string canonical_query(const std::vector<std::pair<std::string, std::string>>& query);

// "20130524T000000Z", the form of the header x-amz-date.
std::string sigv4_time(std::time_t time);

// Returns the value of the header Authorization. `time` is that of the header x-amz-date, which
// must be one of the signed headers.
std::string sigv4_authorization(const SigV4Request& request, const SigV4Scope& scope,
                                std::time_t time);

}  // namespace recordpipe
