// URLs through libcurl's parser, the one that will fetch them: two parsers could disagree on the
// host.
#include "recordpipe/http/url.h"

#include <memory>
#include <new>

#include <curl/curl.h>

#include "recordpipe/error.h"

namespace recordpipe {
namespace {

struct FreeUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using ParsedUrl = std::unique_ptr<CURLU, FreeUrl>;

ParsedUrl new_url() {
  ParsedUrl url(curl_url());
  if (url == nullptr) throw std::bad_alloc();
  return url;
}

// A part of the URL, "" where it has none.
std::string part(const ParsedUrl& url, CURLUPart which) {
  char* text = nullptr;
  if (curl_url_get(url.get(), which, &text, 0) != CURLUE_OK) return "";
  const std::unique_ptr<char, void (*)(void*)> owner(text, curl_free);
  return text;
}

std::string without_secrets(const ParsedUrl& url) {
  const std::string port = part(url, CURLUPART_PORT);
  return part(url, CURLUPART_SCHEME) + "://" + part(url, CURLUPART_HOST) +
         (port.empty() ? "" : ":" + port) + part(url, CURLUPART_PATH);
}

// The same for what could not be parsed, by a rule that rather drops too much: what follows the
// last '@', without a query. Where a '?' or '#' comes before it, which may be one of a password, or
// where there is no '@' and what follows a ':' may be half a password, only the scheme.
std::string without_secrets(std::string_view text) {
  const size_t at = text.rfind('@');
  if (at != text.npos && text.find_first_of("?#") > at) {
    text = text.substr(at + 1);
    return std::string(text.substr(0, text.find_first_of("?#")));
  }
  const size_t end = text.find_first_of(":?#@");
  return end == text.npos ? std::string(text) : std::string(text.substr(0, end)) + ":…";
}

bool is_http(const std::string& scheme) { return scheme == "http" || scheme == "https"; }

}  // namespace

HttpUrl::HttpUrl(std::string_view text) : text_(text) {
  const ParsedUrl url = new_url();
  const CURLUcode code =
      curl_url_set(url.get(), CURLUPART_URL, text_.c_str(), CURLU_NON_SUPPORT_SCHEME);
  const std::string scheme = part(url, CURLUPART_SCHEME);
  if (code != CURLUE_OK || text_.find('\0') != text_.npos) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .path = without_secrets(text),
                 .reason = "not a URL: " + std::string(curl_url_strerror(code)),
                 .hint = "it starts with https:// or http://"});
  }
  if (!is_http(scheme)) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .path = without_secrets(text),
                 .reason = "not an http or https URL",
                 .hint = "a file that is already here needs no download: give its path"});
  }
  shown_ = without_secrets(url);
  encrypted_ = scheme == "https";
}

HttpUrl HttpUrl::redirected(std::string_view location) const {
  const auto refuse = [&](const std::string& reason) {
    return Error({.kind = ErrorKind::network,
                  .path = shown_,
                  .reason = reason,
                  .hint = "the server is set up wrongly or not the right one: check the URL"});
  };
  const ParsedUrl url = new_url();
  curl_url_set(url.get(), CURLUPART_URL, text_.c_str(), 0);
  // URLENCODE: spaces and bytes beyond ASCII are common in Location.
  if (curl_url_set(url.get(), CURLUPART_URL, std::string(location).c_str(),
                   CURLU_NON_SUPPORT_SCHEME | CURLU_URLENCODE) != CURLUE_OK) {
    throw refuse("redirected to something that is not a URL");
  }
  const std::string scheme = part(url, CURLUPART_SCHEME);
  HttpUrl target;
  target.shown_ = without_secrets(url);
  target.encrypted_ = scheme == "https";
  if (!is_http(scheme)) throw refuse("redirected to " + printable(scheme) + ":, which is refused");
  if (encrypted_ && !target.encrypted_) {
    throw refuse("redirected from https to http, which is refused");
  }
  target.text_ = part(url, CURLUPART_URL);
  return target;
}

}  // namespace recordpipe
