// Iterators that live at the same time share the threads of one market. A separate program, because
// it counts the threads of its process.
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <vector>

#include <gtest/gtest.h>

#include "dataset/base/available_cpus.h"
#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/pipeline/range.h"

namespace recordpipe {
namespace {

size_t number_of_threads() {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return static_cast<size_t>(std::distance(begin(threads), end(threads)));
}

TEST(LiveIterators, RunNoMoreThreadsThanCoresAndServices) {
  constexpr size_t kIterators = 8;
  const auto dataset = range(1'000'000)
                           .map([](int64_t x) {
                             for (int i = 0; i < 100; ++i) x = x * 3 % 1'000'003;
                             return x;
                           })
                           .prefetch(2);
  std::vector<Iterator<int64_t>> iterators;
  for (size_t i = 0; i < kIterators; ++i) iterators.push_back(dataset.iterate());
  for (int round = 0; round < 3000; ++round) {
    for (auto& iterator : iterators) ASSERT_NE(iterator.next(), nullptr);
    if (round % 100 != 0) continue;
    // This thread and those that compute, and the prefetch thread of each iterator.
    EXPECT_LE(number_of_threads(), std::max<size_t>(2, available_cpus()) + kIterators);
  }
}

}  // namespace
}  // namespace recordpipe
