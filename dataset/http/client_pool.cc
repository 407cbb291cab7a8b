#include "dataset/http/client_pool.h"

namespace recordpipe {

void HttpClientPool::send(const HttpRequest& request, const HttpHandler& handler) {
  RequestLimit::Running running(limit_);
  std::unique_ptr<HttpClient> client = take();
  client->send(request, {.on_response =
                             [&](const HttpResponse& response) {
                               running.answered(response.status);
                               return handler.on_response(response);
                             },
                         .on_body = handler.on_body,
                         .on_tick = handler.on_tick});
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(client));
}

void HttpClientPool::get(const HttpUrl& url, const std::vector<std::string>& headers,
                         const HttpHandler& handler) {
  send({.url = url, .headers = headers}, handler);
}

std::unique_ptr<HttpClient> HttpClientPool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<HttpClient> client = std::move(idle_.back());
      idle_.pop_back();
      return client;
    }
  }
  return std::make_unique<HttpClient>(options_);
}

}  // namespace recordpipe
