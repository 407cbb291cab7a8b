#include "dataset/object_store/store.h"

#include <algorithm>
#include <array>
#include <span>

#include "dataset/base/base64.h"
#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

// The most that is read of an error.
constexpr size_t kLargestError = size_t{64} << 10;

bool is_for_handler(const ObjectRequest& request, long status) {
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

  std::unique_ptr<HttpAttempt> start(const HttpRequest& request, HttpSend send) override {
    ObjectRequest wanted{.object = object_};
    for (const std::string& line : request.headers) {
      const size_t colon = line.find(": ");
      wanted.headers.emplace_back(line.substr(0, colon), line.substr(colon + 2));
    }
    return store_->start(std::move(wanted), std::move(send));
  }

 private:
  const std::shared_ptr<ObjectStore> store_;
  const ObjectUrl object_;
};

}  // namespace

class ObjectStore::Attempt final : public HttpAttempt {
 public:
  Attempt(ObjectStore& store, ObjectRequest request, HttpSend send)
      : store_(store),
        request_(std::move(request)),
        send_(std::move(send)),
        sent_(store_.authorise(request_)),
        attempt_(send_(sent_.request)) {}

  void finish(const HttpHandler& handler) override {
    if (judge(handler, /*is_last=*/false)) return;
    attempt_.reset();
    sent_ = store_.authorise(request_);
    attempt_ = send_(sent_.request);
    judge(handler, /*is_last=*/true);
  }

 private:
  // Returns false if the request is to be sent once more.
  bool judge(const HttpHandler& handler, bool is_last) {
    std::optional<HttpResponse> refused;  // or, with late_errors, not known yet
    std::string body;
    attempt_->finish({.on_response =
                          [&](const HttpResponse& response) {
                            if (is_for_handler(request_, response.status) &&
                                !(request_.late_errors && response.status == 200)) {
                              return handler.on_response(response);
                            }
                            refused = response;
                            return true;
                          },
                      .on_body =
                          [&](std::span<const std::byte> bytes) {
                            if (!refused) return handler.on_body(bytes);
                            const size_t size = std::min(bytes.size(), kLargestError - body.size());
                            body.append(reinterpret_cast<const char*>(bytes.data()), size);
                            if (body.size() == kLargestError) refuse(*refused, {});
                          },
                      .on_tick = handler.on_tick});
    if (!refused) return true;
    const ServiceError error = parse_service_error(body);
    if (refused->status == 416) {
      handler.on_response(with_range(*refused, error));
      return true;
    }
    if (refused->status == 200 && error.code.empty()) {
      if (handler.on_response(*refused)) handler.on_body(std::as_bytes(std::span(body)));
      return true;
    }
    if (is_last || !store_.renew(sent_, request_, *refused, error)) refuse(*refused, error);
    return false;
  }

  [[noreturn]] void refuse(const HttpResponse& response, const ServiceError& error) const {
    store_.refuse(sent_, request_, response, error);
  }

  ObjectStore& store_;
  const ObjectRequest request_;
  const HttpSend send_;
  AuthorisedRequest sent_;
  std::unique_ptr<HttpAttempt> attempt_;
};

std::unique_ptr<HttpAttempt> ObjectStore::start(ObjectRequest request, HttpSend send) {
  return std::make_unique<Attempt>(*this, std::move(request), std::move(send));
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
