// One GET over http or https, with redirects, time limits and a way to stop it.
//
// libcurl is used here (and its parser of URLs in http_url) and nowhere else. Proxies are taken
// from the environment as curl takes them (http_proxy, https_proxy, all_proxy, no_proxy); ~/.curlrc
// and ~/.netrc are not read.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "recordpipe/error.h"
#include "recordpipe/http/url.h"

namespace recordpipe {

struct HttpClientOptions {
  // For the name, the connection and the TLS handshake together.
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(15);
  // A transfer that brings fewer than stall_bytes within stall_timeout is given up.
  std::chrono::milliseconds stall_timeout = std::chrono::seconds(30);
  uint64_t stall_bytes = 1024;
  int max_redirects = 5;
  // Certificates (PEM) to trust in place of the system's.
  std::string ca_file = {};
  // Ends a transfer at once, with Error{cancelled}.
  std::stop_token stop = {};
};

// The head of an answer. Headers are "" where they were not sent.
struct HttpResponse {
  HttpUrl url;  // after redirects
  long status = 0;
  std::optional<uint64_t> content_length = {};  // of the body that follows
  std::string content_range = {};
  std::string content_type = {};
  std::string date = {};
  std::string etag = {};
  std::string last_modified = {};
  std::optional<std::chrono::seconds> retry_after = {};
};

// A failure that may pass: the same request may succeed a little later.
class TransientError : public Error {
 public:
  explicit TransientError(Parts parts, std::optional<std::chrono::seconds> retry_after = {})
      : Error(std::move(parts)), retry_after_(retry_after) {}
  // How long the server asks to be left alone.
  std::optional<std::chrono::seconds> retry_after() const { return retry_after_; }

 private:
  std::optional<std::chrono::seconds> retry_after_;
};

// Called on the thread that calls get(). An exception from any of them ends the transfer and comes
// out of get().
struct HttpHandler {
  // Once, before the body, for whatever status but a redirect that was followed. Returns false if
  // the body isn't wanted: get() then returns without it.
  std::function<bool(const HttpResponse&)> on_response;
  // The body in pieces, as it is sent: no Content-Encoding is undone.
  std::function<void(std::span<const std::byte>)> on_body;
  // About ten times a second.
  std::function<void()> on_tick;
};

// Keeps its connection open from one get() to the next. Not for two threads at once.
class HttpClient {
 public:
  explicit HttpClient(HttpClientOptions options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Returns when the body has arrived as HTTP frames it. `headers` are "Name: value" lines.
  // Throws TransientError for a transfer that could not be made or was cut, Error{network} where
  // trying again is of no use (a certificate that isn't trusted, a redirect loop) and
  // Error{cancelled}.
  void get(const HttpUrl& url, const std::vector<std::string>& headers, const HttpHandler& handler);

 private:
  class Transfer;

  HttpClientOptions options_;
  struct Handles;
  std::unique_ptr<Handles> handles_;
};

}  // namespace recordpipe
