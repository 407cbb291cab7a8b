// Describes how the requests for one file are sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dataset/http/attempt.h"
#include "recordpipe/http/client.h"
#include "recordpipe/http/url.h"

namespace recordpipe {

// Stands between the transfers of this layer and the client: an object store's interceptor signs
// requests, and turns the store's errors into Error. Thread-safe.
class HttpInterceptor {
 public:
  virtual ~HttpInterceptor() = default;
  // Sends `request`, changed, through `send`; the attempt may send it once more. Its handler
  // receives one response.
  virtual std::unique_ptr<HttpAttempt> start(const HttpRequest& request, HttpSend send) = 0;
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

  // Sends a GET request. Its response is received ahead as far as `sink` goes (HttpExchange).
  std::unique_ptr<HttpAttempt> start(HttpClient& client, std::vector<std::string> headers,
                                     std::span<std::byte> sink = {}) const {
    const HttpRequest request{.url = url, .headers = std::move(headers)};
    HttpSend send = send_through(client, 0, sink);
    return interceptor ? interceptor->start(request, std::move(send)) : send(request);
  }

  // The header for a range request; `validator` is that of validator_of(), not "".
  std::string condition_header(const std::string& validator) const {
    if (condition == RangeCondition::if_range) return "If-Range: " + validator;
    return (validator.starts_with('"') ? "If-Match: " : "If-Unmodified-Since: ") + validator;
  }
};

}  // namespace recordpipe
