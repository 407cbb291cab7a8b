// Provides HTTP clients for several threads, so that each can run a request at the same time.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "dataset/http/request_limit.h"
#include "recordpipe/http/client.h"
#include "recordpipe/http/file_system.h"
#include "recordpipe/http/url.h"
#include "recordpipe/internal/fork.h"

namespace recordpipe {

// Keeps the connections of finished requests open for later requests of any thread and for any
// file. Never has more clients than requests that ran at the same time. Thread-safe.
//
// A child made by fork() leaks its copies of the clients: using or closing a connection there would
// disturb the parent's TLS session.
class HttpClientPool {
 public:
  // At most `most_requests` run at a time, and fewer if a server is too busy (request_limit.h).
  explicit HttpClientPool(HttpClientOptions options,
                          size_t most_requests = HttpReadOptions().most_requests)
      : options_(std::move(options)), limit_(most_requests) {}

  // Calls HttpClient::send() of a client that no other thread uses meanwhile. If send() throws, the
  // client's connections are closed. The handler must not send requests through this pool.
  void send(const HttpRequest& request, const HttpHandler& handler);
  // Sends a GET request.
  void get(const HttpUrl& url, const std::vector<std::string>& headers, const HttpHandler& handler);

 private:
  std::unique_ptr<HttpClient> take();

  const HttpClientOptions options_;
  RequestLimit limit_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<HttpClient>> idle_;
  const internal::AfterFork renewal_{[this] {
    internal::renew(mutex_);
    internal::renew_without_destruction(idle_);
  }};
};

}  // namespace recordpipe
