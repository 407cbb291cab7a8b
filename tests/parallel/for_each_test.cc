#include "dataset/parallel/for_each.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace recordpipe::parallel {
namespace {

TEST(ForEach, CallsEachOnce) {
  for (const size_t threads : {1, 2, 7}) {
    for (const uint64_t count : {0, 1, 2, 1000}) {
      std::vector<std::atomic<int>> calls(count);
      for_each(count, threads, [&](uint64_t i) { ++calls[i]; });
      for (const auto& number : calls) EXPECT_EQ(number, 1);
    }
  }
}

TEST(ForEach, ThrowsTheErrorOfTheLowestIndexOnAnyNumberOfThreads) {
  for (const size_t threads : {1, 2, 7}) {
    for (int trial = 0; trial < 20; ++trial) {
      std::vector<std::atomic<int>> calls(1000);
      std::string message;
      try {
        for_each(calls.size(), threads, [&](uint64_t i) {
          ++calls[i];
          if (i % 100 == 77) throw std::runtime_error(std::to_string(i));
        });
      } catch (const std::runtime_error& error) {
        message = error.what();
      }
      EXPECT_EQ(message, "77") << threads;
      for (size_t i = 0; i <= 77; ++i) EXPECT_EQ(calls[i], 1) << i;
    }
  }
}

TEST(ForEach, LoopsInLoops) {
  for (const size_t threads : {1, 2, 5}) {
    std::atomic<uint64_t> sum = 0;
    for_each(20, threads, [&](uint64_t i) {
      for_each(20, threads, [&](uint64_t j) {
        for_each(3, threads, [&](uint64_t k) { sum += i * 60 + j * 3 + k; });
      });
    });
    EXPECT_EQ(sum, 1200u * 1199 / 2);
  }
}

TEST(ForEach, WaitingThreads) {
  std::atomic<uint64_t> sum = 0;
  for_each(
      100, 64, [&](uint64_t i) { sum += i; }, CrewKind::waits);
  EXPECT_EQ(sum, 4950u);
}

}  // namespace
}  // namespace recordpipe::parallel
