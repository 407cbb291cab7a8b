// Describes how the requests for one file are sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "recordpipe/http/client.h"
#include "recordpipe/http/url.h"

namespace recordpipe {

// Sends a request; its reply is received ahead as the sender says.
using HttpSend = std::function<std::unique_ptr<HttpReply>(const HttpRequest&)>;

// Stands between the transfers of this layer and the client: an object store's interceptor signs
// requests, and turns the store's errors into Error. Thread-safe.
class HttpInterceptor {
 public:
  virtual ~HttpInterceptor() = default;
  // Sends `request`, changed, through `send`; the reply may send it once more.
  virtual std::unique_ptr<HttpReply> send(const HttpRequest& request, HttpSend send) = 0;
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

  // Sends a GET request. Its body is received ahead as far as `sink` goes. `stop` ends waits.
  std::unique_ptr<HttpReply> send(HttpClient& client, std::vector<std::string> headers,
                                  const std::stop_token& stop,
                                  std::span<std::byte> sink = {}) const {
    const auto send_now = [&client, stop, sink](HttpRequest sent) {
      sent.stop = stop;
      return client.send(std::move(sent), 0, sink);
    };
    const HttpRequest request{.url = url, .headers = std::move(headers)};
    return interceptor ? interceptor->send(request, send_now) : send_now(request);
  }

  // The header for a range request; `validator` is that of validator_of(), not "".
  std::string condition_header(const std::string& validator) const {
    if (condition == RangeCondition::if_range) return "If-Range: " + validator;
    return (validator.starts_with('"') ? "If-Match: " : "If-Unmodified-Since: ") + validator;
  }
};

}  // namespace recordpipe
