// URLs, HttpClient and dates without libcurl (RECORDPIPE_STANDALONE): every URL is refused.
#include <string>

#include "dataset/http/date.h"
#include "dataset/http/exchange.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"
#include "recordpipe/http/client.h"
#include "recordpipe/http/url.h"

namespace recordpipe {
namespace {

Error refusal(std::string_view url) {
  return Error({.kind = ErrorKind::unsupported,
                .path = without_secrets(url),
                .reason = "a URL: this program was built without libcurl, as all Python wheels are",
                .hint = "download the file first, or build recordpipe from its source"});
}

}  // namespace

std::optional<std::time_t> parse_http_date(std::string_view) { return std::nullopt; }

HttpUrl::HttpUrl(std::string_view text) { throw refusal(text); }

HttpUrl HttpUrl::redirected(std::string_view location) const { throw refusal(location); }

HttpUrl HttpUrl::shown_as(std::string) const { return *this; }

struct HttpClient::State {};

HttpClient::HttpClient(HttpClientOptions, std::optional<size_t>) {}

HttpClient::~HttpClient() = default;

void HttpClient::send(const HttpRequest& request, const HttpHandler&) {
  throw refusal(request.url.text());
}

void HttpClient::get(const HttpUrl& url, const std::vector<std::string>&, const HttpHandler&) {
  throw refusal(url.text());
}

struct HttpExchange::State {};

HttpExchange::HttpExchange(HttpClient& client, HttpRequest request, size_t, std::span<std::byte>)
    : client_(client), request_(std::move(request)), first_url_(request_.url), ahead_(0) {
  throw refusal(request_.url.text());
}

HttpExchange::~HttpExchange() = default;

const HttpResponse& HttpExchange::head(const std::function<void()>&) {
  throw refusal(first_url_.text());
}

std::span<const std::byte> HttpExchange::next(const std::function<void()>&) {
  throw refusal(first_url_.text());
}

void HttpExchange::run(const HttpHandler&) { throw refusal(first_url_.text()); }

}  // namespace recordpipe
