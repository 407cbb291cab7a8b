// The number of threads for an option that sets it.
#pragma once

#include <algorithm>
#include <cstddef>

#include "dataset/base/available_cpus.h"

namespace recordpipe {

// `asked` threads; 0: available_cpus(). At most max(16, 4 * available_cpus()): more threads would
// only cost memory.
inline size_t thread_count(size_t asked) {
  constexpr size_t kAlwaysAllowed = 16;
  const size_t cpus = available_cpus();
  return asked == 0 ? cpus : std::min(asked, std::max(kAlwaysAllowed, 4 * cpus));
}

}  // namespace recordpipe
