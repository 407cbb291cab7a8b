// Keeps a credential that expires, and renews it in time.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/fork.h"

namespace recordpipe {

// `Credential` has a member `expires`, a std::optional<std::chrono::system_clock::time_point>, and
// operator==. Thread-safe; one thread renews, the others wait for it.
template <typename Credential>
class Refreshed {
 public:
  using Clock = std::chrono::system_clock;

  // Tests pass another clock, as `now`.
  explicit Refreshed(std::function<Credential()> fetch,
                     std::function<Clock::time_point()> now = Clock::now)
      : fetch_(std::move(fetch)), now_(std::move(now)) {}

  // Renews the credential 5 minutes before it expires; one of a short life, when a tenth of its
  // life is left. If that fails, returns the old one as long as it is valid, and tries again after
  // 10 s.
  Credential get() {
    const std::lock_guard lock(mutex_);
    const Clock::time_point now = now_();
    if (credential_ && (!credential_->expires || now < renew_at_)) return *credential_;
    try {
      credential_ = fetch_();
    } catch (const Error& error) {
      const bool is_valid = credential_ && now < *credential_->expires;
      if (!is_valid || error.kind() == ErrorKind::cancelled) throw;
      renew_at_ = std::min(now + std::chrono::seconds(10), *credential_->expires);
      return *credential_;
    }
    if (credential_->expires) {
      const Clock::duration life = *credential_->expires - now;
      renew_at_ =
          *credential_->expires -
          std::min<Clock::duration>(std::chrono::minutes(5), std::max(life, life.zero()) / 10);
    }
    return *credential_;
  }

  // Drops a credential that a server has refused, unless another thread has renewed it already.
  void discard(const Credential& refused) {
    const std::lock_guard lock(mutex_);
    if (credential_ && *credential_ == refused) credential_.reset();
  }

 private:
  const std::function<Credential()> fetch_;
  const std::function<Clock::time_point()> now_;
  std::mutex mutex_;
  std::optional<Credential> credential_;
  Clock::time_point renew_at_;
  const internal::AfterFork renewal_{[this] {
    // The thread that held the mutex may have been changing the credential.
    if (!internal::renew(mutex_)) internal::renew_without_destruction(credential_);
  }};
};

}  // namespace recordpipe
