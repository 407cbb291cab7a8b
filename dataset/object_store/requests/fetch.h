// Fetches small documents: credentials from services of the machine or of the cloud.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "recordpipe/http/client.h"

namespace recordpipe {

// Receives the rest of a body; empty if it has more than `most` bytes.
std::optional<std::string> body_of(HttpReply& reply, size_t most);

struct FetchedDocument {
  long status = 0;
  std::string body = {};
};

// Sends one request, without following redirects: they could carry a credential elsewhere. Throws
// Error{limit_exceeded} for more than 1 MiB.
FetchedDocument fetch(HttpRequest request, const HttpClientOptions& options);

// Options for a service in this machine or its network: no proxy, and a timeout of one second, or
// less if `options` has less.
HttpClientOptions local_service(HttpClientOptions options);

// Parses "2026-01-31T12:00:00Z", also with a fraction of a second. Empty for any other text.
std::optional<std::chrono::system_clock::time_point> parse_utc_time(std::string_view text);

// Returns `value`, which goes into a header or a signature, if all of it is printable ASCII without
// blanks. Otherwise throws Error{invalid_argument} that names `what`, without the value.
std::string checked_secret(std::string value, const std::string& what);

}  // namespace recordpipe
