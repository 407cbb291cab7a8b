#include "recordpipe/base/philox.h"

#include <vector>

#include <gtest/gtest.h>

namespace recordpipe {
namespace {

// The known-answer vectors published with Random123 for philox4x32, 10 rounds.
TEST(Philox, MatchesPublishedVectors) {
  using Block = std::array<uint32_t, 4>;
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, IsAFunctionOfKeyEpochAndIndex) {
  const auto draw = [](uint64_t key, uint64_t epoch, uint64_t index) {
    Random random(key, epoch, index);
    return random.next64();
  };
  EXPECT_EQ(draw(1, 2, 3), draw(1, 2, 3));
  EXPECT_NE(draw(1, 2, 3), draw(2, 2, 3));
  EXPECT_NE(draw(1, 2, 3), draw(1, 3, 3));
  EXPECT_NE(draw(1, 2, 3), draw(1, 2, 4));
  EXPECT_NE(draw(1, 2, 3), draw(1, 2, 3 + (uint64_t{1} << 32)));
}

TEST(Random, SeedAndEpochDoNotAlias) {
  // If the key were seed + epoch, seed 1 in epoch 0 would draw the same as seed 0 in epoch 1.
  Random a(derive_key(0, 5), 1, 0);
  Random b(derive_key(1, 5), 0, 0);
  EXPECT_NE(a.next64(), b.next64());
}

TEST(Random, BelowIsUniform) {
  std::vector<int> count(9);
  Random random(derive_key(7, 0), 0, 0);
  for (int i = 0; i < 90000; ++i) ++count[random.below(9)];
  double chi_square = 0;
  for (const int n : count) chi_square += (n - 1e4) * (n - 1e4) / 1e4;
  EXPECT_LT(chi_square, 26.1);  // 8 degrees of freedom, p = 0.001
}

TEST(Random, Below64IsUniformWhereWholeRoundsDoNotFit) {
  // 2^64 is four thirds of n: with a plain modulo, half of the numbers would be below 2^62.
  const uint64_t n = uint64_t{3} << 62;
  int low = 0;
  Random random(derive_key(7, 0), 0, 0);
  for (int i = 0; i < 90000; ++i) {
    const uint64_t drawn = random.below64(n);
    ASSERT_LT(drawn, n);
    low += drawn < n / 3;
  }
  EXPECT_NEAR(low, 30000, 650);  // 4.6 standard deviations
  EXPECT_EQ(random.below64(1), 0u);
}

TEST(Random, AlternatesBetweenEpochsFromAFirstNumberDrawnByIndex) {
  int ones = 0;
  for (uint64_t index = 0; index < 10000; ++index) {
    Random first(derive_key(7, 1), 0, index);
    const bool at_first = first.alternating();
    ones += at_first;
    first.next64();
    EXPECT_EQ(first.alternating(), at_first) << "whatever else is drawn";
    for (uint64_t epoch = 1; epoch < 4; ++epoch)
      ASSERT_EQ(Random(derive_key(7, 1), epoch, index).alternating(), at_first != (epoch % 2 == 1));
  }
  EXPECT_NEAR(ones, 5000, 200);
}

TEST(Random, UniformStaysBelowOne) {
  Random random(1, 0, 0);
  for (int i = 0; i < 100000; ++i) {
    const float x = random.uniform();
    ASSERT_GE(x, 0.0f);
    ASSERT_LT(x, 1.0f);
  }
}

}  // namespace
}  // namespace recordpipe
