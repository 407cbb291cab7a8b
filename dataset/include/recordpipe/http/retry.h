// Retries of failed requests with exponential backoff, for all transfers.
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "recordpipe/error.h"
#include "recordpipe/http/client.h"

namespace recordpipe {

struct HttpRetryOptions {
  // The number of retries for temporary failures (default: 5): a transfer that is cut off or
  // stalls, and the statuses 408, 429, 500, 502, 503 and 504. A server that never answered is
  // retried only once.
  int retries = 5;
  // The delay before the first retry (default: 1 s); doubled for each further retry, up to
  // longest_delay (default: 16 s). A longer Retry-After of the server is honoured up to
  // max_retry_after (default: 60 s); beyond, the request is not retried.
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
  // Resets the count of failures, after enough data has arrived.
  void succeeded() { failures_ = 0; }

  // Waits until the next attempt. Throws `error`, with the number of attempts in its reason and
  // `advice` in its hint, if there is no further attempt, and Error{cancelled} after a stop
  // request.
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
