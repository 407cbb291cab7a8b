#include "dataset/object_store/small_request.h"

#include <optional>
#include <span>
#include <utility>

#include "recordpipe/error.h"
#include "recordpipe/stop.h"

namespace recordpipe {
namespace {

SmallAnswer send_once(ObjectStore& store, const ObjectRequest& request, HttpClientPool& clients,
                      HttpRetry& retry) {
  std::optional<HttpResponse> head;
  std::string body;
  const HttpHandler handler{
      .on_response =
          [&](const HttpResponse& response) {
            retry.answered();
            head = response;
            return true;
          },
      .on_body =
          [&](std::span<const std::byte> bytes) {
            if (bytes.size() > kLargestAnswer - body.size()) {
              throw Error({.kind = ErrorKind::limit_exceeded,
                           .path = request.object.text(),
                           .reason = "an answer of the service has more than 16 MiB",
                           .hint = "check the endpoint"});
            }
            body.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
          },
      .on_tick = [] {}};
  store.send(request, handler,
             [&](const HttpRequest& sent, const HttpHandler& inner) { clients.send(sent, inner); });
  return {.response = std::move(head).value(), .body = std::move(body)};
}

}  // namespace

SmallAnswer send_small(ObjectStore& store, const ObjectRequest& request,
                       const HttpReadOptions& options, HttpClientPool& clients,
                       const std::stop_token& stop) {
  HttpRetry retry(options.retry, stop, options.notice);
  while (true) {
    throw_if_stopped(options.http.stop, request.object.text());
    throw_if_stopped(stop, request.object.text());
    try {
      return send_once(store, request, clients, retry);
    } catch (const TransientError& error) {
      retry.wait_after(error);
    }
  }
}

}  // namespace recordpipe
