// Decides when a hook is due that runs every N steps or seconds: TensorFlow's SecondOrStepTimer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace recordpipe {

// Exactly one member must be above 0.
struct Every {
  uint64_t steps = 0;
  double seconds = 0;
};

// Seconds since an arbitrary moment; monotonic.
using Clock = std::function<double()>;
double steady_seconds();

class StepTimer {
 public:
  struct Elapsed {
    double seconds = 0;
    uint64_t steps = 0;
  };

  // Throws Error{invalid_argument}, with `who` in the message, unless exactly one of steps and
  // seconds is set.
  StepTimer(const char* who, Every every, Clock now = steady_seconds);

  // True at the first call, for any step; later, once the interval has passed since the last
  // update().
  bool is_due(uint64_t step) const;
  // Starts a new interval. Returns the time and steps since the previous update(); empty at the
  // first.
  std::optional<Elapsed> update(uint64_t step);
  // Forgets all updates.
  void reset() { last_.reset(); }

 private:
  struct Moment {
    double seconds;
    uint64_t step;
  };

  const Every every_;
  const Clock now_;
  std::optional<Moment> last_;
};

}  // namespace recordpipe
