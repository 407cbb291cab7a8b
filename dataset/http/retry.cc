#include "recordpipe/http/retry.h"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include "recordpipe/base/stop.h"

namespace recordpipe {
namespace {

using std::chrono::milliseconds;

std::string in_seconds(milliseconds time) {
  const auto tenths = (time.count() + 99) / 100;
  std::string text = std::to_string(tenths / 10);
  if (tenths % 10 != 0) text += "." + std::to_string(tenths % 10);
  return text + " s";
}

// A quarter more at most: requests that failed together don't come back together.
milliseconds jittered(milliseconds delay) {
  // Not std::random_device, which needs a C library of 2022 where libstdc++ is linked statically.
  thread_local std::minstd_rand random(static_cast<unsigned>(
      std::chrono::steady_clock::now().time_since_epoch().count() ^
      static_cast<int64_t>(std::hash<std::thread::id>()(std::this_thread::get_id()))));
  return delay + delay * std::uniform_int_distribution<int>(0, 250)(random) / 1000;
}

}  // namespace

HttpRetry::HttpRetry(const HttpRetryOptions& options, std::stop_token stop, HttpNotice notice)
    : options_(options), stop_(std::move(stop)), notice_(std::move(notice)) {}

void HttpRetry::wait_after(const TransientError& error, const std::string& advice) {
  ++failures_;
  if (error.answered()) answered_ = true;
  const int retries = answered_ ? options_.retries : std::min(options_.retries, 1);
  if (failures_ > retries) throw gave_up(error, advice);
  milliseconds delay = options_.first_delay;
  for (int i = 1; i < failures_ && delay < options_.longest_delay; ++i) delay *= 2;
  delay = std::min(delay, options_.longest_delay);
  if (error.retry_after()) {
    if (*error.retry_after() > options_.max_retry_after) throw gave_up(error, advice);
    delay = std::max<milliseconds>(delay, *error.retry_after());
  }
  if (notice_) {
    notice_(printable(error.path()) + ": " + error.reason() + ", trying again in " +
            in_seconds(delay));
  }
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any never;
  never.wait_for(lock, stop_, jittered(delay), [] { return false; });
  throw_if_stopped(stop_, error.path());
}

Error HttpRetry::gave_up(const TransientError& error, const std::string& advice) const {
  std::string reason = error.reason();
  if (failures_ > 1) reason += ", " + std::to_string(failures_) + " attempts";
  if (error.retry_after()) {
    reason += ", and asks to wait " + std::to_string(error.retry_after()->count()) + " s";
  }
  std::string hint = error.hint();
  if (!hint.empty() && !advice.empty()) hint += "; ";
  hint += advice;
  return Error({.kind = error.kind(), .path = error.path(), .reason = reason, .hint = hint});
}

}  // namespace recordpipe
