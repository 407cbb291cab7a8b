// The HTTP headers that decide whether two transfers are of the same file (RFC 9110).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace recordpipe {

// Content-Range, RFC 9110 section 14.4: "bytes 5-9/10" or, in a 416, "bytes */10".
struct ContentRange {
  struct Bytes {
    uint64_t first = 0;
    uint64_t last = 0;  // inclusive
  };
  std::optional<Bytes> bytes = {};
  std::optional<uint64_t> total = {};  // nothing for "*"
};

// Nothing where `text` isn't a Content-Range of bytes, or contradicts itself (last before first or
// not below the total, a number that doesn't fit into 64 bits).
std::optional<ContentRange> parse_content_range(std::string_view text);

// What If-Range may hold so that a range is only sent if the file hasn't changed: the ETag if it is
// a strong one, else Last-Modified if it is at least a minute older than Date (RFC 9110 section
// 8.8.2.2: a file could be written twice within a second). "" where there is neither. Arguments are
// "" for a header that was not sent.
std::string validator_of(std::string_view etag, std::string_view last_modified,
                         std::string_view date);

// True for a strong ETag: a quoted string of printable ASCII without a W/ in front.
bool is_strong_etag(std::string_view text);

// Whether a body that starts with `head` is a web page (an error page, a Wi-Fi login, a consent
// form). Nothing as long as `head` is too short to tell.
std::optional<bool> looks_like_html(std::span<const std::byte> head);

// True for the media types of web pages, "text/html; charset=..." for one.
bool is_html_type(std::string_view content_type);

}  // namespace recordpipe
