// URLs, HttpClient and dates without libcurl: every URL is refused.
#include <string>

#include "dataset/http/headers.h"
#include "dataset/http/transfer/certificates.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"
#include "recordpipe/http/client.h"
#include "recordpipe/http/url.h"

namespace recordpipe {
namespace {

Error refusal(std::string_view url) {
  return Error({.kind = ErrorKind::unsupported,
                .path = without_secrets(url),
                .reason = "a URL: recordpipe was built without libcurl",
                .hint =
                    "build it with libcurl (package libcurl4-openssl-dev), or download the file "
                    "first"});
}

}  // namespace

Certificates find_certificates() { return {}; }

std::optional<std::time_t> parse_http_date(std::string_view) { return std::nullopt; }

HttpUrl::HttpUrl(std::string_view text) { throw refusal(text); }

HttpUrl HttpUrl::redirected(std::string_view location) const { throw refusal(location); }

HttpUrl HttpUrl::shown_as(std::string) const { return *this; }

struct HttpClient::State {};

HttpClient::HttpClient(HttpClientOptions, std::optional<size_t>) {}

HttpClient::~HttpClient() = default;

std::unique_ptr<HttpReply> HttpClient::send(HttpRequest request, size_t, std::span<std::byte>) {
  throw refusal(request.url.text());
}

}  // namespace recordpipe
