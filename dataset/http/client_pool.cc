#include "dataset/http/client_pool.h"

namespace recordpipe {

void HttpClientPool::get(const HttpUrl& url, const std::vector<std::string>& headers,
                         const HttpHandler& handler) {
  std::unique_ptr<HttpClient> client = take();
  client->get(url, headers, handler);
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(client));
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
