// Defines the number of trials of randomised tests.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace recordpipe {

// RECORDPIPE_CHAINS (default 100): the number of trials of each test. The sanitizer presets set it
// lower, and .ci/run higher.
inline uint64_t trial_count() {
  const char* text = std::getenv("RECORDPIPE_CHAINS");
  return text ? std::strtoull(text, nullptr, 10) : 100;
}

}  // namespace recordpipe
