// Evaluates the HTTP headers that identify a file and its ranges across transfers (RFC 9110).
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "recordpipe/http/client.h"

namespace recordpipe {

// Content-Range, RFC 9110 section 14.4: "bytes 5-9/10" or, in a 416, "bytes */10".
struct ContentRange {
  struct Bytes {
    uint64_t first = 0;
    uint64_t last = 0;  // inclusive
  };
  std::optional<Bytes> bytes = {};
  std::optional<uint64_t> total = {};  // empty for "*"
};

// Empty if `text` is not a Content-Range in bytes, or is inconsistent (last before first, last not
// below the total, a number of more than 64 bits).
std::optional<ContentRange> parse_content_range(std::string_view text);

// Returns the value for If-Range, with which the server sends a range only if the file is
// unchanged: a strong ETag; otherwise Last-Modified, if it is at least a minute older than Date
// (RFC 9110 section 8.8.2.2: a file may be written twice within a second); otherwise "". Pass ""
// for a header that was not sent.
std::string validator_of(std::string_view etag, std::string_view last_modified,
                         std::string_view date);

// Seconds since 1970; empty if `text` is not a date.
std::optional<std::time_t> parse_http_date(std::string_view text);

// Whether `text` is a strong ETag: a quoted string of printable ASCII without the prefix W/.
bool is_strong_etag(std::string_view text);

// Bytes [first, last] of a file of `total` bytes.
struct PartOfFile {
  uint64_t first = 0;
  uint64_t last = 0;
  uint64_t total = 0;
};

// Returns the range of a 206 response. Empty unless the range starts at `first`, agrees with the
// Content-Length, and belongs to the same file: the response must not have a strong ETag other than
// `validator`, nor a size other than `total` (empty if unknown).
std::optional<PartOfFile> matching_part(const HttpResponse& response, uint64_t first,
                                        std::optional<uint64_t> total,
                                        const std::string& validator);

// Whether a body that starts with `head` is a web page (an error page, a Wi-Fi login, a consent
// form). Empty if `head` is too short to decide.
std::optional<bool> looks_like_html(std::span<const std::byte> head);

// Whether `content_type` is the type of a web page, for example "text/html; charset=utf-8".
bool is_html_type(std::string_view content_type);

}  // namespace recordpipe
