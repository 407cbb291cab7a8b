// A request that was sent and its response, for the thread that waits for them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "recordpipe/base/internal/fork.h"
#include "recordpipe/http/client.h"

namespace recordpipe {

class HttpLoop;
struct Transfer;

// Used by one thread at a time. All functions throw the errors of HttpClient::send().
class HttpExchange {
 public:
  // Sends the request. The body is received ahead of next(): the first bytes into `sink`, then
  // until about `ahead` bytes have arrived; with neither, not before next() is called. `sink` must
  // be valid as long as this object.
  HttpExchange(HttpClient& client, HttpRequest request, size_t ahead = 0,
               std::span<std::byte> sink = {});
  // Ends the transfer.
  ~HttpExchange();
  HttpExchange(const HttpExchange&) = delete;
  HttpExchange& operator=(const HttpExchange&) = delete;

  // Waits for the head of the response that is no redirect to be followed. `on_tick` is called
  // about ten times a second.
  const HttpResponse& head(const std::function<void()>& on_tick = {});
  // Waits for the next bytes of the body, after head(); none at its end. They are valid until the
  // next call, or as long as `sink`.
  std::span<const std::byte> next(const std::function<void()>& on_tick = {});
  // Calls the handler for the whole response.
  void run(const HttpHandler& handler);

 private:
  // What a child made by fork() leaks.
  struct State;

  void follow();

  HttpClient& client_;
  HttpRequest request_;  // after redirects
  const HttpUrl first_url_;
  const size_t ahead_;
  const std::span<std::byte> sink_;
  int redirects_ = 0;
  std::unique_ptr<State, internal::DeleteUnlessForked> state_;
};

}  // namespace recordpipe
