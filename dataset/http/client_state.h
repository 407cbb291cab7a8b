// What a client keeps for its requests.
#pragma once

#include <memory>
#include <mutex>

#include "dataset/http/transfer/loop.h"
#include "dataset/http/transfer/request_limit.h"
#include "recordpipe/base/internal/fork.h"
#include "recordpipe/http/client.h"

namespace recordpipe {

struct HttpClient::State {
  // The loop is made with the first request.
  std::shared_ptr<HttpLoop> loop() {
    const std::lock_guard lock(mutex);
    if (!kept_loop) kept_loop = HttpLoop::of_process();
    return kept_loop;
  }

  const std::shared_ptr<const HttpClientOptions> options;
  const std::shared_ptr<RequestLimit> limit;  // null: none
  std::mutex mutex = {};                      // guards kept_loop
  std::shared_ptr<HttpLoop> kept_loop = {};
  // The loop's thread is the parent's, and so are the connections.
  const internal::AfterFork renewal{[this] {
    internal::renew(mutex);
    internal::renew_without_destruction(kept_loop);
  }};
};

}  // namespace recordpipe
