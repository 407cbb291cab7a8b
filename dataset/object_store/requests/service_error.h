// Errors of object stores: the XML body of a response, and what follows from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recordpipe {

// All parts may be empty: the body comes from a server, or from something in between.
struct ServiceError {
  std::string code = {};     // "NoSuchKey"
  std::string message = {};  // at most 300 bytes
  std::string region = {};   // of the bucket, if the server told it; safe as a part of a host
  std::optional<uint64_t> object_size = {};  // of InvalidRange

  // Replaces each of `secrets` in the code and message: a server may repeat what it was sent.
  void conceal(const std::vector<std::string>& secrets);
};

// Parses <Error>, also within an <ErrorResponse>. Any other body is an empty error.
ServiceError parse_service_error(std::string_view body);

// "403, AccessDenied: Access Denied"
std::string describe(long status, const ServiceError& error);

// Whether a later attempt may succeed: 408, 429, 500, 502, 503, 504, or the code of a busy service
// with another status.
bool is_transient(long status, std::string_view code);

// Whether the credential of the request has expired.
bool is_expired(std::string_view code);

// Whether `text` has the form of a region, so that it may become a part of a host name.
bool is_region(std::string_view text);

}  // namespace recordpipe
