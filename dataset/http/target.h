// Describes how the requests for one file are sent.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "recordpipe/http/client.h"
#include "recordpipe/http/url.h"

namespace recordpipe {

// Stands between the transfers of this layer and the client: an object store's interceptor signs
// requests, and turns the store's errors into Error. Thread-safe.
class HttpInterceptor {
 public:
  using Next = std::function<void(const HttpRequest&, const HttpHandler&)>;

  virtual ~HttpInterceptor() = default;
  // Sends `request`, possibly changed and more than once, by calling `next`. `handler` must receive
  // one response.
  virtual void send(const HttpRequest& request, const HttpHandler& handler, const Next& next) = 0;
};

// The condition under which a server sends a range of a file: that the file is unchanged.
enum class RangeCondition {
  if_range,  // otherwise, the server sends the whole file (RFC 9110 section 13.1.5)
  if_match,  // otherwise, the server answers 412; object stores do not support If-Range
};

// A transfer of this size succeeded, even if it then breaks off: HttpRetry::succeeded().
inline constexpr uint64_t kSuccessfulTransfer = uint64_t{1} << 20;

struct HttpTarget {
  HttpUrl url;
  std::shared_ptr<HttpInterceptor> interceptor = {};  // none: requests are sent as they are
  RangeCondition condition = RangeCondition::if_range;

  // Sends a GET request through `client`, an HttpClient or HttpClientPool.
  template <typename Client>
  void get(Client& client, std::vector<std::string> headers, const HttpHandler& handler) const {
    const HttpRequest request{.url = url, .headers = std::move(headers)};
    if (!interceptor) return client.send(request, handler);
    interceptor->send(request, handler, [&](const HttpRequest& changed, const HttpHandler& inner) {
      client.send(changed, inner);
    });
  }

  // The header for a range request; `validator` is that of validator_of(), not "".
  std::string condition_header(const std::string& validator) const {
    if (condition == RangeCondition::if_range) return "If-Range: " + validator;
    return (validator.starts_with('"') ? "If-Match: " : "If-Unmodified-Since: ") + validator;
  }
};

}  // namespace recordpipe
