// Represents an http or https URL: its text, its form for messages, and the target of a redirect.
#pragma once

#include <string>
#include <string_view>

#include "recordpipe/base/internal/url_path.h"

namespace recordpipe {

class HttpUrl {
 public:
  // `text` must be an absolute http:// or https:// URL; otherwise throws Error{invalid_argument}.
  // The message does not contain the user name, password or query.
  explicit HttpUrl(std::string_view text);

  // Returns the target of a redirect. `location`, the Location header of a response, is absolute or
  // relative to this URL. Throws Error{network} for other schemes and for a redirect from https to
  // http.
  HttpUrl redirected(std::string_view location) const;

  // Returns this URL with another text for messages, for example "s3://bucket/key".
  HttpUrl shown_as(std::string shown) const;

  // Whether both URLs have the same scheme, host and port.
  bool has_same_origin(const HttpUrl& other) const { return origin_ == other.origin_; }

  // The complete URL, including secrets.
  const std::string& text() const { return text_; }
  // For messages: without user name, password and fragment, and with "?..." for the query.
  const std::string& shown() const { return shown_; }

 private:
  HttpUrl() = default;

  std::string text_;
  std::string shown_;
  std::string origin_;      // scheme, host and port
  bool encrypted_ = false;  // https
};

}  // namespace recordpipe
