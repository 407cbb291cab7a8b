#include "recordpipe/http/client.h"

#include <utility>

#include "dataset/http/client_state.h"
#include "dataset/http/exchange.h"

namespace recordpipe {

HttpClient::HttpClient(HttpClientOptions options, std::optional<size_t> most_requests)
    : state_(new State{
          .options = std::make_shared<const HttpClientOptions>(std::move(options)),
          .limit = most_requests ? std::make_shared<RequestLimit>(*most_requests) : nullptr}) {}

HttpClient::~HttpClient() = default;

void HttpClient::send(const HttpRequest& request, const HttpHandler& handler) {
  HttpExchange(*this, request).run(handler);
}

void HttpClient::get(const HttpUrl& url, const std::vector<std::string>& headers,
                     const HttpHandler& handler) {
  send({.url = url, .headers = headers}, handler);
}

}  // namespace recordpipe
