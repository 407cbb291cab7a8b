// Whether a path is a URL, and where its query begins. (url.h takes URLs apart with libcurl,
// which not all who read files link.)
#pragma once

#include <algorithm>
#include <string_view>

namespace recordpipe {

// Whether `path` starts with http:// or https://, in letters of any case.
inline bool is_http_url(std::string_view path) {
  const auto starts_with = [path](std::string_view lower) {
    return path.size() >= lower.size() &&
           std::equal(lower.begin(), lower.end(), path.begin(), [](char a, char b) {
             return a == b || (b >= 'A' && b <= 'Z' && a == static_cast<char>(b - 'A' + 'a'));
           });
  };
  return starts_with("http://") || starts_with("https://");
}

// A URL up to its query or fragment: "https://host/a.npz" of
// "https://host/a.npz?X-Amz-Signature=...". Any other path whole: a "?" in the name of a file is
// part of it.
inline std::string_view without_query(std::string_view path) {
  return is_http_url(path) ? path.substr(0, path.find_first_of("?#")) : path;
}

}  // namespace recordpipe
