// Performs HTTP requests over http or https, with redirects, timeouts and cancellation.
//
// The library uses libcurl only here and in url.h (URL parser). Proxies are taken from the
// environment, as in curl (http_proxy, https_proxy, all_proxy, no_proxy), and so are certificates
// (CURL_CA_BUNDLE, or SSL_CERT_FILE and SSL_CERT_DIR); ~/.curlrc and ~/.netrc are not read.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recordpipe/base/error.h"
#include "recordpipe/http/url.h"

namespace recordpipe {

struct HttpClientOptions {
  // For name resolution, connection and TLS handshake together (default: 15 s).
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(15);
  // If fewer than stall_bytes (default: 1024) are received or sent within stall_timeout (default:
  // 30 s), the transfer fails with TransientError.
  std::chrono::milliseconds stall_timeout = std::chrono::seconds(30);
  uint64_t stall_bytes = 1024;
  int max_redirects = 5;
  // A file of trusted certificates (PEM) that replaces all others (default: those of the
  // environment, or the system's).
  std::string ca_file = {};
  // Whether the proxies of the environment are used (default: yes). No for services of this machine
  // that hand out credentials.
  bool use_proxy = true;
  // Ends a transfer at once, with Error{cancelled}.
  std::stop_token stop = {};
  // Called about ten times a second by a thread that waits for a response.
  std::function<void()> on_tick = {};
};

struct HttpRequest {
  HttpUrl url;
  std::string method = "GET";             // GET, PUT, POST or DELETE
  std::vector<std::string> headers = {};  // "Name: value" lines
  // For PUT and POST; null is an empty body. Shared, because a request is copied and may be large.
  std::shared_ptr<const std::string> body = {};
  // No: a redirect is returned like any other response. A signature is valid for one
  // host only, and a credential must not be sent to another one.
  bool follow_redirects = true;
  // Yes: segments "." and ".." of the path are sent as they are. They may be parts of an object's
  // name.
  bool path_as_is = false;
  // Ends a wait for the response, too, within a tenth of a second.
  std::stop_token stop = {};
};

// The head of a response. Missing headers are empty strings.
struct HttpResponse {
  HttpUrl url;  // after redirects
  long status = 0;
  std::optional<uint64_t> content_length = {};  // of the body that follows
  std::string content_range = {};
  std::string content_type = {};
  std::string date = {};
  std::string etag = {};
  std::string last_modified = {};
  // The headers whose names begin with "x-", which services define: lower-case names, and values.
  std::vector<std::pair<std::string, std::string>> extensions = {};
  std::optional<std::chrono::seconds> retry_after = {};

  // The value of the first extension of this name (lower case); "" for none.
  std::string extension(std::string_view name) const {
    const auto found =
        std::ranges::find(extensions, name, &decltype(extensions)::value_type::first);
    return found == extensions.end() ? "" : found->second;
  }
};

// A temporary failure: a later attempt at the same request may succeed.
class TransientError : public Error {
 public:
  explicit TransientError(Parts parts, std::optional<std::chrono::seconds> retry_after = {},
                          bool answered = false)
      : Error(std::move(parts)), retry_after_(retry_after), answered_(answered) {}
  // The Retry-After header: the delay that the server requests.
  std::optional<std::chrono::seconds> retry_after() const { return retry_after_; }
  // Whether this is an answer of the server and not a failure to reach it.
  bool answered() const { return answered_; }

 private:
  std::optional<std::chrono::seconds> retry_after_;
  bool answered_;
};

// A request that was sent, and its response. Used by one thread at a time. Both functions throw
// TransientError if the transfer failed or was cut off, Error{network} if a retry would be useless
// (an untrusted certificate, a redirect loop), and Error{cancelled}.
class HttpReply {
 public:
  // Ends the transfer.
  virtual ~HttpReply() = default;
  // Waits for the head of the response, with any status except that of a followed redirect.
  virtual const HttpResponse& head() = 0;
  // Waits for the next bytes of the body, after head(); none at its end, as defined by HTTP's
  // framing. They are as they were sent: Content-Encoding is not decoded. Valid until the next
  // call.
  virtual std::span<const std::byte> next() = 0;
};

// Sends requests. One thread moves the bytes of all clients of the process, while there are any; it
// keeps connections open for later requests. Thread-safe.
class HttpClient {
 public:
  // At most `max_requests` of this client run at a time (default: no limit), and fewer if a server
  // is too busy (429, 503): additive increase, multiplicative decrease.
  explicit HttpClient(HttpClientOptions options, std::optional<size_t> max_requests = {});
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Sends a request. The body is received ahead of HttpReply::next(): the first bytes into `sink`,
  // then until about `ahead` bytes have arrived; with neither, not before next() is called. `sink`
  // must be valid as long as the reply, and its bytes stay. Headers that hold credentials
  // (Authorization, Cookie) are not sent to another host or port than the first one.
  std::unique_ptr<HttpReply> send(HttpRequest request, size_t ahead = 0,
                                  std::span<std::byte> sink = {});

 private:
  class Reply;
  struct State;

  std::unique_ptr<State> state_;
};

}  // namespace recordpipe
