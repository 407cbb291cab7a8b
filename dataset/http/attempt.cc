#include "dataset/http/attempt.h"

#include "dataset/http/exchange.h"

namespace recordpipe {
namespace {

class PlainAttempt final : public HttpAttempt {
 public:
  PlainAttempt(HttpClient& client, const HttpRequest& request, size_t ahead,
               std::span<std::byte> sink)
      : exchange_(client, request, ahead, sink) {}

  void finish(const HttpHandler& handler) override { exchange_.run(handler); }

 private:
  HttpExchange exchange_;
};

}  // namespace

HttpSend send_through(HttpClient& client, size_t ahead, std::span<std::byte> sink) {
  return [&client, ahead, sink](const HttpRequest& request) {
    return std::make_unique<PlainAttempt>(client, request, ahead, sink);
  };
}

}  // namespace recordpipe
