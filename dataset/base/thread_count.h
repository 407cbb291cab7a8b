// How many threads work where somebody may say how many.
#pragma once

#include <algorithm>
#include <cstddef>
#include <thread>

namespace recordpipe {

// 0 stands for as many as there are cores. Never many more than those: they would only cost memory.
inline size_t thread_count(size_t asked) {
  constexpr size_t kAlwaysAllowed = 16;
  const auto cores = std::max<size_t>(1, std::thread::hardware_concurrency());
  return asked == 0 ? cores : std::min(asked, std::max(kAlwaysAllowed, 4 * cores));
}

}  // namespace recordpipe
