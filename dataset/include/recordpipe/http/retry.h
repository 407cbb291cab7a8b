// When a request that failed is made again, and how long is waited before that: the rules that all
// transfers follow.
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
  // Attempts after the first, for failures that may pass: a transfer that is cut or stalls, and the
  // statuses 408, 429, 500, 502, 503 and 504. A server that has not answered at all gets only one
  // of them.
  int retries = 5;
  // The wait before the first of them, doubled each time up to the longest; longer if the server
  // asks for it (Retry-After), and if it asks for more than max_retry_after, it is not tried again.
  std::chrono::milliseconds first_delay = std::chrono::seconds(1);
  std::chrono::milliseconds longest_delay = std::chrono::seconds(16);
  std::chrono::seconds max_retry_after = std::chrono::seconds(60);
};

// Told, in one line each, what went wrong but is being dealt with: "…: trying again in 2 s".
using HttpNotice = std::function<void(std::string_view)>;

// Counts the failures of one transfer.
class HttpRetry {
 public:
  HttpRetry(const HttpRetryOptions& options, std::stop_token stop, HttpNotice notice);

  // The server has answered, whatever it said.
  void answered() { answered_ = true; }
  // Enough has arrived since the last failure: the next one is the first again.
  void succeeded() { failures_ = 0; }

  // Waits until the next attempt is due. Throws `error`, with the number of attempts and with
  // `advice` in its hint, where there is to be none, and Error{cancelled} when it is stopped.
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
