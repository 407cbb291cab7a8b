// HTTP clients for several threads: as many requests at a time as there are threads.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "recordpipe/http/client.h"
#include "recordpipe/http/url.h"

namespace recordpipe {

// Keeps the connections of finished requests open for later ones, of any thread and file. Their
// number is at most that of the requests that ran at the same time. Thread-safe.
class HttpClientPool {
 public:
  explicit HttpClientPool(HttpClientOptions options) : options_(std::move(options)) {}

  // HttpClient::get() with a client that no other thread uses meanwhile. After a failure its
  // connection is closed.
  void get(const HttpUrl& url, const std::vector<std::string>& headers, const HttpHandler& handler);

 private:
  std::unique_ptr<HttpClient> take();

  const HttpClientOptions options_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<HttpClient>> idle_;
};

}  // namespace recordpipe
