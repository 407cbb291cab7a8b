// Limits the number of requests that run at the same time, as the servers ask for.
#pragma once

#include <cstddef>
#include <memory>

#include "recordpipe/base/internal/fork.h"

namespace recordpipe {

// Additive increase, multiplicative decrease: a server that is too busy (429, 503) halves the
// limit, down to 1; as many good answers as the limit is raise it by 1, up to the largest. Requests
// that were sent before the limit was halved don't halve it again. Used on the thread of HttpLoop.
class RequestLimit {
 public:
  explicit RequestLimit(size_t most) : max_(most > 0 ? most : 1), limit_(max_) {}

  // Counts one request that runs.
  struct End {
    void operator()(RequestLimit* limit) const { --limit->running_; }
  };
  using Running = std::unique_ptr<RequestLimit, End>;

  // Null if as many as the limit run.
  Running begin() { return running_ < limit_ ? go_on() : nullptr; }
  // Counts a request that goes on after a pause: it isn't kept waiting.
  Running go_on() {
    ++running_;
    return Running(this);
  }
  // Must be called for each answer. `halvings`: halvings() when the request began.
  void answered(long status, size_t halvings);

  size_t halvings() const { return halvings_; }
  size_t limit() const { return limit_; }

 private:
  const size_t max_;
  size_t limit_;
  size_t running_ = 0;
  size_t good_ = 0;  // answers since the limit was last changed
  size_t halvings_ = 0;
  const internal::AfterFork renewal_{[this] { running_ = 0; }};
};

}  // namespace recordpipe
