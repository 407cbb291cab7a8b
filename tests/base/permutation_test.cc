// Tests that every n yields a permutation of [0, n), with the promised randomness.
#include "recordpipe/base/internal/permutation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/base/philox.h"

namespace recordpipe {
namespace {

std::vector<uint64_t> permuted(uint64_t n, uint64_t key) {
  const Permutation permutation(n, key);
  std::vector<uint64_t> out(n);
  for (uint64_t i = 0; i < n; ++i) out[i] = permutation(i);
  return out;
}

bool is_permutation_of(uint64_t n, uint64_t key) {
  const Permutation permutation(n, key);
  std::vector<bool> seen(n);
  for (uint64_t i = 0; i < n; ++i) {
    const uint64_t number = permutation(i);
    if (number >= n || seen[number]) return false;
    seen[number] = true;
  }
  return true;
}

TEST(Permutation, EveryNumberOnceForEverySmallN) {
  for (uint64_t n = 1; n <= 1024; ++n) ASSERT_TRUE(is_permutation_of(n, derive_key(n, 1))) << n;
}

TEST(Permutation, EveryNumberOnceAroundThePowersOfTwo) {
  for (uint64_t power = 1 << 11; power <= 1 << 20; power *= 2) {
    for (const uint64_t n : {power - 1, power, power + 1}) {
      ASSERT_TRUE(is_permutation_of(n, derive_key(n, 2))) << n;
    }
  }
}

TEST(Permutation, OfAsManyNumbersAsThereAre) {
  for (const uint64_t n : {uint64_t{1} << 40, (uint64_t{1} << 63) + 1, UINT64_MAX}) {
    const Permutation permutation(n, 7);
    std::vector<uint64_t> numbers;
    for (uint64_t i = 0; i < 1000; ++i) numbers.push_back(permutation(n - 1 - i));
    std::ranges::sort(numbers);
    EXPECT_EQ(std::ranges::adjacent_find(numbers), numbers.end()) << n;
    EXPECT_LT(numbers.back(), n);
    EXPECT_GT(numbers[500], n / 3);
    EXPECT_LT(numbers[500], n / 3 * 2);
  }
}

TEST(Permutation, IsTheSameForAKeyAndAnotherForAnother) {
  EXPECT_EQ(permuted(1000, 1), permuted(1000, 1));
  EXPECT_NE(permuted(1000, 1), permuted(1000, 2));
  // Saved states depend on these values.
  EXPECT_EQ(permuted(10, derive_key(7, 0)), (std::vector<uint64_t>{5, 0, 9, 3, 2, 6, 8, 7, 1, 4}));
}

// Returns how far `counts` deviate from equal counts, in standard deviations of the chi-square
// distribution.
double deviation(const std::vector<uint64_t>& counts) {
  double total = 0;
  for (const uint64_t count : counts) total += static_cast<double>(count);
  const double expected = total / static_cast<double>(counts.size());
  double chi_square = 0;
  for (const uint64_t count : counts) {
    const double difference = static_cast<double>(count) - expected;
    chi_square += difference * difference / expected;
  }
  const auto freedom = static_cast<double>(counts.size() - 1);
  return (chi_square - freedom) / std::sqrt(2 * freedom);
}

TEST(Permutation, EachOrderIsAsLikely) {
  for (const uint64_t n : {2, 3, 4, 5, 6, 7}) {
    std::map<std::vector<uint64_t>, uint64_t> seen;
    size_t orders = 1;
    for (uint64_t i = 2; i <= n; ++i) orders *= i;
    for (uint64_t trial = 0; trial < 50 * orders; ++trial) {
      ++seen[permuted(n, derive_key(trial, n))];
    }
    ASSERT_EQ(seen.size(), orders);
    std::vector<uint64_t> counts;
    for (const auto& [order, count] : seen) counts.push_back(count);
    EXPECT_LT(std::abs(deviation(counts)), 5) << n;
  }
}

TEST(Permutation, EachNumberIsAsLikelyAtEachPlace) {
  for (const uint64_t n : {9, 16, 17, 50, 65}) {
    std::vector<uint64_t> counts(n * n);
    for (uint64_t trial = 0; trial < 20000; ++trial) {
      const Permutation permutation(n, derive_key(trial, n));
      for (uint64_t i = 0; i < n; ++i) ++counts[i * n + permutation(i)];
    }
    EXPECT_LT(std::abs(deviation(counts)), 5) << n;
  }
}

// Compares each value of a large permutation with the value at a short or long distance after it.
TEST(Permutation, NeighboursAreIndependent) {
  constexpr uint64_t kN = 100'003;
  constexpr uint64_t kBins = 20;
  for (const uint64_t distance : {1, 2, 256, 65536}) {
    std::vector<uint64_t> counts(kBins * kBins);
    for (uint64_t trial = 0; trial < 5; ++trial) {
      const Permutation permutation(kN, derive_key(trial, distance));
      for (uint64_t i = 0; i + distance < kN; ++i) {
        ++counts[permutation(i) * kBins / kN * kBins + permutation(i + distance) * kBins / kN];
      }
    }
    EXPECT_LT(std::abs(deviation(counts)), 6) << distance;
  }
}

}  // namespace
}  // namespace recordpipe
