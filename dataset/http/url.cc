// Parses URLs with libcurl, which also fetches them: two parsers could disagree on the host.
#include "recordpipe/http/url.h"

#include <memory>
#include <new>
#include <utility>

#include "dataset/base/lower_case.h"
#include "dataset/http/transfer/libcurl.h"
#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

struct FreeUrl {
  void operator()(CURLU* url) const { libcurl().url_cleanup(url); }
};
using ParsedUrl = std::unique_ptr<CURLU, FreeUrl>;

ParsedUrl new_url() {
  ParsedUrl url(libcurl().url());
  if (url == nullptr) throw std::bad_alloc();
  return url;
}

// A part of the URL; "" if the URL has no such part.
std::string part(const ParsedUrl& url, CURLUPart which, unsigned flags = 0) {
  char* text = nullptr;
  if (libcurl().url_get(url.get(), which, &text, flags) != CURLUE_OK) return "";
  const std::unique_ptr<char, void (*)(void*)> owner(text, libcurl().free);
  return text;
}

std::string origin_of(const ParsedUrl& url) {
  return part(url, CURLUPART_SCHEME) + "://" + lower_case(part(url, CURLUPART_HOST)) + ":" +
         part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT);
}

std::string without_secrets(const ParsedUrl& url) {
  const std::string port = part(url, CURLUPART_PORT);
  return part(url, CURLUPART_SCHEME) + "://" + part(url, CURLUPART_HOST) +
         (port.empty() ? "" : ":" + port) + part(url, CURLUPART_PATH) +
         (part(url, CURLUPART_QUERY).empty() ? "" : std::string(kHiddenQuery));
}

// For text that could not be parsed: drops too much rather than too little. Keeps the text after
// the last '@', without the query. Keeps only the scheme if a '?' or '#' precedes that '@' (and may
// belong to a password), or if there is no '@' (the text after a ':' may be half a password).
std::string scheme_or_host(std::string_view text) {
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
      libcurl().url_set(url.get(), CURLUPART_URL, text_.c_str(), CURLU_NON_SUPPORT_SCHEME);
  const std::string scheme = part(url, CURLUPART_SCHEME);
  if (code != CURLUE_OK || text_.find('\0') != text_.npos) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .path = scheme_or_host(text),
                 .reason = "not a URL: " + std::string(libcurl().url_strerror(code)),
                 .hint = "it starts with https:// or http://"});
  }
  if (!is_http(scheme)) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .path = scheme_or_host(text),
                 .reason = "not an http or https URL",
                 .hint = "a local file needs no download: give its path"});
  }
  shown_ = without_secrets(url);
  origin_ = origin_of(url);
  encrypted_ = scheme == "https";
}

HttpUrl HttpUrl::shown_as(std::string shown) const {
  HttpUrl url = *this;
  url.shown_ = std::move(shown);
  return url;
}

HttpUrl HttpUrl::redirected(std::string_view location) const {
  const auto refuse = [&](const std::string& reason) {
    return Error({.kind = ErrorKind::network,
                  .path = shown_,
                  .reason = reason,
                  .hint = "the server is misconfigured or not the intended one: check the URL"});
  };
  const ParsedUrl url = new_url();
  libcurl().url_set(url.get(), CURLUPART_URL, text_.c_str(), 0);
  // URLENCODE: spaces and non-ASCII bytes are common in Location.
  if (libcurl().url_set(url.get(), CURLUPART_URL, std::string(location).c_str(),
                        CURLU_NON_SUPPORT_SCHEME | CURLU_URLENCODE) != CURLUE_OK) {
    throw refuse("redirected to something that is not a URL");
  }
  const std::string scheme = part(url, CURLUPART_SCHEME);
  HttpUrl target;
  target.shown_ = without_secrets(url);
  target.origin_ = origin_of(url);
  target.encrypted_ = scheme == "https";
  if (!is_http(scheme)) throw refuse("redirected to " + printable(scheme) + ":, which is refused");
  if (encrypted_ && !target.encrypted_) {
    throw refuse("redirected from https to http, which is refused");
  }
  target.text_ = part(url, CURLUPART_URL);
  return target;
}

}  // namespace recordpipe
