#include "dataset/object_store/small_request.h"

#include <optional>
#include <span>
#include <utility>

#include "recordpipe/base/error.h"
#include "recordpipe/base/stop.h"

namespace recordpipe {
namespace {

// Answers are received while other requests are sent; longer ones wait for finish().
constexpr size_t kAhead = size_t{16} << 10;

}  // namespace

SmallRequest::SmallRequest(ObjectStore& store, ObjectRequest request,
                           const HttpReadOptions& options, HttpClient& client)
    : store_(store), request_(std::move(request)), options_(options), client_(client) {
  try {
    started_ = send();
  } catch (const Error&) {
    // finish() sends it again.
  }
}

std::unique_ptr<HttpAttempt> SmallRequest::send() const {
  return store_.start(request_, send_through(client_, kAhead));
}

SmallAnswer SmallRequest::finish_once(HttpRetry& retry) {
  std::optional<HttpResponse> head;
  std::string body;
  const std::unique_ptr<HttpAttempt> attempt = started_ ? std::move(started_) : send();
  attempt->finish({.on_response =
                       [&](const HttpResponse& response) {
                         retry.answered();
                         head = response;
                         return true;
                       },
                   .on_body =
                       [&](std::span<const std::byte> bytes) {
                         if (bytes.size() > kLargestAnswer - body.size()) {
                           throw Error({.kind = ErrorKind::limit_exceeded,
                                        .path = request_.object.text(),
                                        .reason = "an answer of the service has more than 16 MiB",
                                        .hint = "check the endpoint"});
                         }
                         body.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
                       },
                   .on_tick = [] {}});
  return {.response = std::move(head).value(), .body = std::move(body)};
}

void SmallRequest::settle() noexcept {
  if (!started_) return;
  try {
    started_->finish({.on_response = [](const HttpResponse&) { return true; },
                      .on_body = [](std::span<const std::byte>) {},
                      .on_tick = [] {}});
  } catch (...) {
    // Nobody asks.
  }
  started_.reset();
}

SmallAnswer SmallRequest::finish(const std::stop_token& stop) {
  HttpRetry retry(options_.retry, stop, options_.notice);
  while (true) {
    throw_if_stopped(options_.http.stop, request_.object.text());
    throw_if_stopped(stop, request_.object.text());
    try {
      return finish_once(retry);
    } catch (const TransientError& error) {
      retry.wait_after(error);
    }
  }
}

SmallAnswer send_small(ObjectStore& store, ObjectRequest request, const HttpReadOptions& options,
                       HttpClient& client, const std::stop_token& stop) {
  throw_if_stopped(options.http.stop, request.object.text());
  return SmallRequest(store, std::move(request), options, client).finish(stop);
}

}  // namespace recordpipe
