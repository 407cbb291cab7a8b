// When a hook that works every so many steps or seconds is due: TensorFlow's SecondOrStepTimer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace recordpipe {

// Exactly one of the two is more than 0.
struct Every {
  uint64_t steps = 0;
  double seconds = 0;
};

// Seconds since some moment; never goes back.
using Clock = std::function<double()>;
double steady_seconds();

class StepTimer {
 public:
  struct Elapsed {
    double seconds = 0;
    uint64_t steps = 0;
  };

  // Throws Error{invalid_argument}, naming `who`, unless exactly one of the two is given.
  StepTimer(const char* who, Every every, Clock now = steady_seconds);

  // True at its first call, for any step; then once a distance as given has passed since the last
  // update().
  bool is_due(uint64_t step) const;
  // Counts from here on. What has passed since the update before; nothing the first time.
  std::optional<Elapsed> update(uint64_t step);
  // As if it had never been updated.
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
