// Handles paths that are URLs: detects them, removes the query, and hides secrets in messages.
// (http/url.h parses URLs with libcurl. Not every program that reads files links libcurl.)
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "recordpipe/base/error.h"

namespace recordpipe {

// Whether `path` starts with `lower`, a lower-case text (case-insensitive).
inline bool starts_with_scheme(std::string_view path, std::string_view lower) {
  return path.size() >= lower.size() &&
         std::equal(lower.begin(), lower.end(), path.begin(), [](char a, char b) {
           return a == b || (b >= 'A' && b <= 'Z' && a == static_cast<char>(b - 'A' + 'a'));
         });
}

// Whether `path` starts with http:// or https:// (case-insensitive).
inline bool is_http_url(std::string_view path) {
  return starts_with_scheme(path, "http://") || starts_with_scheme(path, "https://");
}

// Whether `path` names an object or a folder of objects: it starts with s3:// or gs://. Unlike in a
// URL of HTTP, all bytes after the bucket are the object's name: there is no query, no fragment and
// no percent-encoding. The name may be a pattern.
inline bool is_object_url(std::string_view path) {
  return path.starts_with("s3://") || path.starts_with("gs://");
}

// Whether `path` starts with the scheme of a URL, also one that only a file system given in Python
// reads: "ftp://".
inline bool has_scheme(std::string_view path) {
  const size_t end =
      path.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-");
  return end != path.npos && end > 0 && path.substr(end).starts_with("://");
}

// Whether `path` names a file that is read over the network.
inline bool is_url(std::string_view path) { return is_http_url(path) || is_object_url(path); }

// Returns a URL without query and fragment: "https://host/a.npz" for
// "https://host/a.npz?X-Amz-Signature=...". Returns any other path unchanged: "?" is allowed in
// file names.
inline std::string_view without_query(std::string_view path) {
  return is_http_url(path) ? path.substr(0, path.find_first_of("?#")) : path;
}

// Replaces the query of a URL in messages.
inline constexpr std::string_view kHiddenQuery = "?...";

// Returns `path` for messages. In a URL, user name, password, query and fragment may contain
// secrets (for example, the query of a presigned URL): the query is replaced by "?...", the other
// parts are dropped. Of other schemes than HTTP's, "?" and "#" may be parts of names: a query has a
// "=", and secret is a user with a password ("abfs://container@account" is kept). Any other path is
// unchanged, except an object's with credentials before the bucket, "s3://KEY:SECRET@bucket/...",
// which no service accepts: they are dropped. Idempotent, also after a suffix ":MEMBER" was
// appended to the result.
inline std::string without_secrets(std::string_view path) {
  if (is_object_url(path)) {
    constexpr size_t kScheme = 5;
    // A secret key may have slashes; a bucket has neither of these characters.
    const size_t end = std::min(path.find('/', kScheme), path.size());
    const size_t at = path.rfind('@');
    const bool has_user = at != path.npos && path.find_first_of(":@", kScheme) < end;
    return has_user ? std::string(path.substr(0, kScheme)).append(path.substr(at + 1))
                    : std::string(path);
  }
  if (!has_scheme(path)) return std::string(path);
  const size_t authority = path.find("://") + 3;
  const size_t authority_end = std::min(path.find_first_of("/?#", authority), path.size());
  // A parser treats a '?' or '#' in a password as the end of the authority.
  const bool has_path = authority_end < path.size() && path[authority_end] == '/';
  if (!has_path && path.find('@', authority_end) != path.npos) {
    return std::string(path.substr(0, authority)) + std::string(kHiddenQuery);
  }
  const size_t at = path.substr(0, authority_end).rfind('@');
  const bool is_http = is_http_url(path);
  const bool has_secret = at != path.npos && (is_http || path.find(':', authority) < at);
  const size_t host = has_secret ? at + 1 : authority;
  const size_t query = path.find('=') == path.npos ? path.npos : path.find('?');
  const std::string_view kept = is_http ? without_query(path) : path.substr(0, query);
  std::string shown(path.substr(0, authority));
  shown += kept.substr(std::min(host, kept.size()));
  const std::string_view rest = path.substr(kept.size());
  if (rest == kHiddenQuery || rest.starts_with(std::string(kHiddenQuery) + ":")) {
    shown += rest;
  } else if (rest.starts_with('?')) {
    shown += kHiddenQuery;
  }
  return shown;
}

// Returns `path` as messages print it.
inline std::string shown_path(std::string_view path) { return printable(without_secrets(path)); }

}  // namespace recordpipe
