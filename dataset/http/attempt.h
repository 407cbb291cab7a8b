// Requests that are sent before somebody waits for their responses.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "recordpipe/http/client.h"

namespace recordpipe {

// A request that was sent, on its way or waiting to be judged: perhaps it is sent once more.
class HttpAttempt {
 public:
  virtual ~HttpAttempt() = default;
  // Waits for the response, and calls the handler for it. To be called once.
  virtual void finish(const HttpHandler& handler) = 0;
};

// Sends a request, whose response is received while other requests are sent.
using HttpSend = std::function<std::unique_ptr<HttpAttempt>(const HttpRequest&)>;

// Sends through `client`, as HttpExchange.
HttpSend send_through(HttpClient& client, size_t ahead = 0, std::span<std::byte> sink = {});

}  // namespace recordpipe
