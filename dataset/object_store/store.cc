#include "dataset/object_store/store.h"

#include <algorithm>
#include <array>
#include <span>

#include "dataset/base/base64.h"
#include "dataset/object_store/requests/fetch.h"
#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

// The most that is read of an error.
constexpr size_t kLargestError = size_t{64} << 10;

bool is_accepted(const ObjectRequest& request, long status) {
  return (status >= 200 && status < 300) || status == 412 ||
         std::ranges::find(request.accepted, status) != request.accepted.end();
}

// S3 sends the size of an object in the body of a 416 only.
HttpResponse with_range(HttpResponse response, const ServiceError& error) {
  if (response.content_range.empty() && error.object_size) {
    response.content_range = "bytes */" + std::to_string(*error.object_size);
  }
  return response;
}

class ObjectInterceptor final : public HttpInterceptor {
 public:
  ObjectInterceptor(std::shared_ptr<ObjectStore> store, ObjectUrl object)
      : store_(std::move(store)), object_(std::move(object)) {}

  std::unique_ptr<HttpReply> send(const HttpRequest& request, HttpSend send) override {
    ObjectRequest wanted{.object = object_};
    for (const std::string& line : request.headers) {
      const size_t colon = line.find(": ");
      wanted.headers.emplace_back(line.substr(0, colon), line.substr(colon + 2));
    }
    return store_->send(std::move(wanted), std::move(send));
  }

 private:
  const std::shared_ptr<ObjectStore> store_;
  const ObjectUrl object_;
};

}  // namespace

class ObjectStore::Reply final : public HttpReply {
 public:
  Reply(ObjectStore& store, ObjectRequest request, HttpSend send)
      : store_(store), request_(std::move(request)), send_(std::move(send)) {
    start();
  }

  const HttpResponse& head() override {
    if (head_ || judge(/*is_last=*/false)) return *head_;
    reply_.reset();
    start();
    judge(/*is_last=*/true);
    return *head_;
  }

  std::span<const std::byte> next() override {
    if (!body_) return reply_->next();
    piece_ = std::exchange(*body_, {});
    return std::as_bytes(std::span(piece_));
  }

 private:
  void start() {
    sent_ = store_.authorise(request_);
    reply_ = send_(sent_->request);
  }

  // Returns false if the request is to be sent once more.
  bool judge(bool is_last) {
    const HttpResponse& response = reply_->head();
    const bool may_be_error = request_.late_errors && response.status == 200;
    if (is_accepted(request_, response.status) && !may_be_error) {
      head_ = response;
      return true;
    }
    auto body = body_of(*reply_, kLargestError);
    if (!body) refuse(response, {});
    const ServiceError error = parse_service_error(*body);
    if (response.status == 416) {
      head_ = with_range(response, error);
      body_ = "";
    } else if (response.status == 200 && error.code.empty()) {
      head_ = response;
      body_ = std::move(*body);
    } else if (is_last || !store_.renew(*sent_, request_, response, error)) {
      refuse(response, error);
    }
    return head_.has_value();
  }

  [[noreturn]] void refuse(const HttpResponse& response, const ServiceError& error) const {
    store_.refuse(*sent_, request_, response, error);
  }

  ObjectStore& store_;
  const ObjectRequest request_;
  const HttpSend send_;
  std::optional<AuthorisedRequest> sent_;
  std::unique_ptr<HttpReply> reply_;
  std::optional<HttpResponse> head_;  // that is accepted
  std::optional<std::string> body_;   // that was read before it was accepted
  std::string piece_;                 // of `body_`, returned by next()
};

std::unique_ptr<HttpReply> ObjectStore::send(ObjectRequest request, HttpSend send) {
  return std::make_unique<Reply>(*this, std::move(request), std::move(send));
}

void ObjectStore::refuse(const AuthorisedRequest& sent, const ObjectRequest& request,
                         const HttpResponse& response, ServiceError error) const {
  error.conceal(sent.secrets);
  Error::Parts parts{.kind = ErrorKind::network,
                     .path = request.object.text(),
                     .reason = name() + " answered " + describe(response.status, error),
                     .hint = hint(sent, error)};
  if (is_transient(response.status, error.code)) {
    parts.hint.clear();
    throw TransientError(std::move(parts), response.retry_after, /*answered=*/true);
  }
  if (response.status == 404 || response.status == 410) {
    parts.kind = ErrorKind::not_found;
  } else if (response.status == 401 || response.status == 403 || response.status == 407 ||
             is_expired(error.code)) {
    parts.kind = ErrorKind::permission_denied;
  }
  throw Error(std::move(parts));
}

HttpRequest request_to(const std::string& url, const ObjectRequest& request) {
  return {.url = HttpUrl(url).shown_as(request.object.text()),
          .method = request.method,
          .body = request.body,
          .follow_redirects = false,
          .path_as_is = true};
}

std::string crc32c_text(uint32_t crc) {
  std::string text;
  const std::array bytes{static_cast<std::byte>(crc >> 24), static_cast<std::byte>(crc >> 16),
                         static_cast<std::byte>(crc >> 8), static_cast<std::byte>(crc)};
  append_base64(text, bytes);
  return text;
}

HttpTarget object_target(std::shared_ptr<ObjectStore> store, const ObjectUrl& object) {
  // The interceptor replaces this URL; it is the name in messages.
  const HttpUrl url = HttpUrl("https://object.invalid/").shown_as(object.text());
  return {.url = url,
          .interceptor = std::make_shared<ObjectInterceptor>(std::move(store), object),
          .condition = RangeCondition::if_match};
}

}  // namespace recordpipe
