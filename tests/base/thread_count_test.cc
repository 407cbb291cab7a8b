// Tests that thread_count() returns the requested number of threads, within limits.
#include <algorithm>
#include <cstdint>

#include <gtest/gtest.h>

#include "dataset/base/available_cpus.h"

namespace recordpipe {
namespace {

TEST(ThreadCount, IsBounded) {
  const size_t cores = thread_count(0);
  EXPECT_GE(cores, 1u);
  EXPECT_EQ(thread_count(1), 1u);
  EXPECT_EQ(thread_count(16), 16u);
  for (const size_t asked : {size_t{100'000}, SIZE_MAX}) {
    EXPECT_EQ(thread_count(asked), std::max<size_t>(16, 4 * cores));
  }
}

}  // namespace
}  // namespace recordpipe
