#include "dataset/object_store/requests/small_request.h"

#include <utility>

#include "dataset/object_store/requests/fetch.h"
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

std::unique_ptr<HttpReply> SmallRequest::send() const {
  return store_.send(request_, [this](HttpRequest sent) {
    sent.stop = options_.http.stop;
    return client_.send(std::move(sent), kAhead);
  });
}

SmallAnswer SmallRequest::finish_once(HttpRetry& retry) {
  const std::unique_ptr<HttpReply> reply = started_ ? std::move(started_) : send();
  SmallAnswer answer{.response = reply->head()};
  retry.answered();
  auto body = body_of(*reply, kLargestAnswer);
  if (!body) {
    throw Error({.kind = ErrorKind::limit_exceeded,
                 .path = request_.object.text(),
                 .reason = "an answer of the service has more than 16 MiB",
                 .hint = "check the endpoint"});
  }
  answer.body = std::move(*body);
  return answer;
}

void SmallRequest::settle() noexcept {
  if (!started_) return;
  try {
    (void)started_->head();
    while (!started_->next().empty()) {
    }
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
