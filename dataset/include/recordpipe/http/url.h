// An http or https URL: what is fetched, what messages may show of it, and where a redirect leads.
#pragma once

#include <string>
#include <string_view>

#include "recordpipe/internal/url_path.h"

namespace recordpipe {

class HttpUrl {
 public:
  // Takes absolute http:// and https:// URLs. Anything else is Error{invalid_argument}, whose
  // message doesn't repeat a user name, a password or a query.
  explicit HttpUrl(std::string_view text);

  // The URL that a Location header of this one's answer leads to, absolute or relative to this.
  // Throws Error{network} where it leaves http and https, or goes from https to http.
  HttpUrl redirected(std::string_view location) const;

  // The whole of it, with what is secret.
  const std::string& text() const { return text_; }
  // For messages: without user name, password, query and fragment, which may hold secrets.
  const std::string& shown() const { return shown_; }

 private:
  HttpUrl() = default;

  std::string text_;
  std::string shown_;
  bool encrypted_ = false;  // https
};

}  // namespace recordpipe
