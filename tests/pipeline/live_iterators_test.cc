// Iterators that live at the same time share the threads of one market. A separate program, because
// it counts the threads of its process.
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dataset/base/available_cpus.h"
#include "recordpipe/dataset.h"
#include "recordpipe/range.h"

namespace recordpipe {
namespace {

std::vector<std::string> names_of_threads() {
  std::vector<std::string> names;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(thread.path() / "comm"), name);
    if (!name.empty()) names.push_back(name);  // else the thread has ended
  }
  return names;
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
    const std::vector<std::string> names = names_of_threads();
    const size_t services = static_cast<size_t>(std::ranges::count(names, "rp-prefetch"));
    EXPECT_EQ(services, kIterators);
    // This thread, and those that compute.
    EXPECT_LE(names.size() - services, std::max<size_t>(2, available_cpus()));
  }
}

}  // namespace
}  // namespace recordpipe
