#include "dataset/http/request_limit.h"

#include <algorithm>

namespace recordpipe {

RequestLimit::Running::Running(RequestLimit& limit) : limit_(limit) {
  std::unique_lock lock(limit_.mutex_);
  limit_.freed_.wait(lock, [&] { return limit_.running_ < limit_.limit_; });
  ++limit_.running_;
  round_ = limit_.round_;
}

RequestLimit::Running::~Running() {
  const std::lock_guard lock(limit_.mutex_);
  --limit_.running_;
  limit_.freed_.notify_one();
}

void RequestLimit::Running::answered(long status) {
  const std::lock_guard lock(limit_.mutex_);
  if (status == 429 || status == 503) {
    if (round_ != limit_.round_) return;
    ++limit_.round_;
    limit_.limit_ = std::max<size_t>(1, limit_.limit_ / 2);
    limit_.good_ = 0;
    return;
  }
  if (limit_.limit_ == limit_.most_ || ++limit_.good_ < limit_.limit_) return;
  ++limit_.limit_;
  limit_.good_ = 0;
  limit_.freed_.notify_one();
}

size_t RequestLimit::limit() const {
  const std::lock_guard lock(mutex_);
  return limit_;
}

}  // namespace recordpipe
