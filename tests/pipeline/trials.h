// Defines the number of trials of randomised tests.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace recordpipe {

// RECORDPIPE_CHAINS (default 1000): the number of trials of each test. The sanitizer presets set it
// lower.
inline uint64_t trial_count() {
  const char* text = std::getenv("RECORDPIPE_CHAINS");
  return text ? std::strtoull(text, nullptr, 10) : 1000;
}

}  // namespace recordpipe
