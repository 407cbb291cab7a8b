// Retries failed requests with exponential backoff, for all transfers.
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "recordpipe/base/error.h"
#include "recordpipe/http/client.h"

namespace recordpipe {

struct HttpRetryOptions {
  // The number of retries for temporary failures (default: 5). A failure is temporary if the
  // transfer is cut off or stalls, or if the status is 408, 429, 500, 502, 503 or 504. If the
  // server never answered, there is only one retry.
  int retries = 5;
  // The delay before the first retry (default: 1 s), doubled for each further retry, up to
  // longest_delay (default: 16 s); a random part of at most a quarter is added. A longer
  // Retry-After from the server is honoured up to max_retry_after (default: 60 s); if it is longer
  // than that, the request is not retried.
  std::chrono::milliseconds first_delay = std::chrono::seconds(1);
  std::chrono::milliseconds longest_delay = std::chrono::seconds(16);
  std::chrono::seconds max_retry_after = std::chrono::seconds(60);
};

// Called with one line for each failure that is retried: "URL: REASON, trying again in 2 s".
using HttpNotice = std::function<void(std::string_view)>;

// Counts the failures of one transfer. Not thread-safe.
class HttpRetry {
 public:
  HttpRetry(const HttpRetryOptions& options, std::stop_token stop, HttpNotice notice);

  // Must be called when the server has answered, with any status.
  void answered() { answered_ = true; }
  // Resets the failure count. To be called when enough data has arrived.
  void succeeded() { failures_ = 0; }

  // Waits until the next attempt. If there is no further attempt, throws `error` with the number of
  // attempts in its reason and `advice` in its hint. Throws Error{cancelled} after a stop request.
  void wait_after(const TransientError& error, const std::string& advice = "");

 private:
  Error gave_up(const TransientError& error, const std::string& advice) const;

  const HttpRetryOptions options_;
  const std::stop_token stop_;
  const HttpNotice notice_;
  int failures_ = 0;
  bool answered_ = false;
};

}  // namespace recordpipe
