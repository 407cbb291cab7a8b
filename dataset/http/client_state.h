// What a client keeps for its requests.
#pragma once

#include <memory>

#include "dataset/base/per_process.h"
#include "dataset/http/transfer/loop.h"
#include "dataset/http/transfer/request_limit.h"
#include "recordpipe/http/client.h"

namespace recordpipe {

struct HttpClient::State {
  std::shared_ptr<HttpLoop> loop() { return kept_loop.get(HttpLoop::of_process); }

  const std::shared_ptr<const HttpClientOptions> options;
  const std::shared_ptr<RequestLimit> limit;                    // null: none
  internal::PerProcess<std::shared_ptr<HttpLoop>> kept_loop{};  // from the first request on
};

}  // namespace recordpipe
