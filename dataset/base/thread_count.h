// How many threads work where somebody may say how many.
#pragma once

#include <algorithm>
#include <cstddef>

#include "dataset/base/available_cpus.h"

namespace recordpipe {

// 0: available_cpus(). Never many more than those: they would only cost memory.
inline size_t thread_count(size_t asked) {
  constexpr size_t kAlwaysAllowed = 16;
  const size_t cpus = available_cpus();
  return asked == 0 ? cpus : std::min(asked, std::max(kAlwaysAllowed, 4 * cpus));
}

}  // namespace recordpipe
