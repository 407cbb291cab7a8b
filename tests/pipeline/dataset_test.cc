// Tests the semantics of each operator on small inputs.
#include "recordpipe/pipeline/dataset.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/pipeline/from_vector.h"
#include "tests/pipeline/collect.h"

namespace recordpipe {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Dataset, YieldsAVectorsElementsInOrder) {
  EXPECT_THAT(collect(from_vector<int>({3, 1, 2})), ElementsAre(3, 1, 2));
  EXPECT_THAT(collect(from_vector<int>({})), IsEmpty());
}

TEST(Dataset, CanBeIteratedAgainAndByTwoAtATime) {
  const auto dataset = from_vector(numbers(500)).shuffle(100, 1);
  auto a = dataset.iterate();
  auto b = dataset.iterate();
  for (int i = 0; i < 500; ++i) ASSERT_EQ(*a.next(), *b.next());
  EXPECT_EQ(a.next(), nullptr);
  EXPECT_EQ(a.next(), nullptr);
}

TEST(Map, ChangesTypesAndKeepsTheOrder) {
  const auto words = from_vector(numbers(1000)).map([](int x) { return std::to_string(x); });
  const auto out = collect(words.with_options({.threads = 4, .chunk_size = 3}));
  ASSERT_EQ(out.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(out[static_cast<size_t>(i)], std::to_string(i));
}

TEST(Map, WithRandomGivesEachElementItsOwnNumbersAndEachEpochOthers) {
  const auto draw = [](int, Random& random) { return random.next64(); };
  const auto once = collect(from_vector(numbers(100)).map_with_random(7, draw));
  EXPECT_EQ(std::set<uint64_t>(once.begin(), once.end()).size(), 100u);
  EXPECT_EQ(collect(from_vector(numbers(100)).map_with_random(7, draw)), once);
  EXPECT_NE(collect(from_vector(numbers(100)).map_with_random(8, draw)), once);

  const auto twice = collect(from_vector(numbers(100)).repeat(2).map_with_random(7, draw));
  EXPECT_TRUE(std::equal(once.begin(), once.end(), twice.begin()));
  EXPECT_EQ(std::set<uint64_t>(twice.begin(), twice.end()).size(), 200u);
}

TEST(Map, RandomNumbersBelongToTheElementWhereverAShufflePutsIt) {
  const auto draw = [](int x, Random& random) { return std::pair(x, random.next64()); };
  const auto source = from_vector(numbers(64));
  auto before = collect(source.map_with_random(7, draw));
  // The shuffle comes last: a random operator before map_with_random would change its draws.
  auto after = collect(source.map_with_random(7, draw).shuffle(64, 3));
  EXPECT_NE(before, after);
  std::sort(after.begin(), after.end());
  EXPECT_EQ(before, after);
}

TEST(Filter, KeepsWhatThePredicateHoldsFor) {
  const auto even = [](const int& x) { return x % 2 == 0; };
  EXPECT_THAT(collect(from_vector(numbers(7)).filter(even)), ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(collect(from_vector(numbers(1000)).filter([](int) { return false; })), IsEmpty());
  EXPECT_THAT(collect(from_vector(numbers(1000)).filter([](int x) { return x == 999; })),
              ElementsAre(999));
}

TEST(Filter, MovesNoOtherElementsRandomNumbers) {
  const auto draw = [](int x, Random& random) { return std::pair(x, random.next64()); };
  const auto all = collect(from_vector(numbers(100)).map_with_random(7, draw));
  const auto some = collect(
      from_vector(numbers(100)).filter([](int x) { return x != 13; }).map_with_random(7, draw));
  auto expected = all;
  expected.erase(expected.begin() + 13);
  EXPECT_EQ(some, expected);
}

TEST(Shuffle, IsAPermutationOtherForEachSeedAndEpoch) {
  const auto source = from_vector(numbers(1000));
  auto a = collect(source.shuffle(1000, 1));
  const auto b = collect(source.shuffle(1000, 2));
  EXPECT_NE(a, numbers(1000));
  EXPECT_NE(a, b);
  const auto epochs = collect(source.shuffle(1000, 1).repeat(2));
  const std::vector<int> first(epochs.begin(), epochs.begin() + 1000);
  std::vector<int> second(epochs.begin() + 1000, epochs.end());
  EXPECT_EQ(first, a);
  EXPECT_NE(second, a);
  std::sort(a.begin(), a.end());
  EXPECT_EQ(a, numbers(1000));
  std::sort(second.begin(), second.end());
  EXPECT_EQ(second, numbers(1000));
}

TEST(Shuffle, BoundsHowFarAnElementComesForward) {
  const auto out = collect(from_vector(numbers(1000)).shuffle(10, 5));
  for (size_t i = 0; i < out.size(); ++i) EXPECT_LE(out[i], static_cast<int>(i) + 9);
}

TEST(Shuffle, IsUniformOverThePermutationsOfASmallInput) {
  std::map<std::vector<int>, int> count;
  for (uint64_t seed = 0; seed < 2400; ++seed) {
    ++count[collect(from_vector(numbers(4)).shuffle(4, seed))];
  }
  ASSERT_EQ(count.size(), 24u);
  double chi_square = 0;
  for (const auto& [order, n] : count) chi_square += (n - 100.0) * (n - 100.0) / 100.0;
  EXPECT_LT(chi_square, 49.7);  // 23 degrees of freedom, p = 0.001
}

TEST(Shuffle, ItsOrderDependsOnTheSeedAlsoBehindAnotherOne) {
  const auto once = collect(from_vector(numbers(100)).shuffle(100, 1));
  const auto twice = collect(from_vector(once).shuffle(100, 1));
  EXPECT_EQ(collect(from_vector(numbers(100)).shuffle(100, 1).shuffle(100, 1)), twice);
}

TEST(Repeat, CountsPasses) {
  const auto source = from_vector<int>({1, 2});
  EXPECT_THAT(collect(source.repeat(3)), ElementsAre(1, 2, 1, 2, 1, 2));
  EXPECT_THAT(collect(source.repeat(0)), IsEmpty());
  EXPECT_THAT(collect(source.repeat().take(5)), ElementsAre(1, 2, 1, 2, 1));
  EXPECT_THAT(collect(source.repeat(2).repeat(2)), ElementsAre(1, 2, 1, 2, 1, 2, 1, 2));
}

TEST(Repeat, OfNothingEnds) {
  EXPECT_THAT(collect(from_vector<int>({}).repeat()), IsEmpty());
  EXPECT_THAT(collect(from_vector(numbers(9)).filter([](int) { return false; }).repeat()),
              IsEmpty());
}

TEST(Repeat, AFiniteOneOutlivesEmptyPasses) {
  const auto coin = [](int, Random& random) { return static_cast<int>(random.below(2)); };
  const auto is_head = [](int x) { return x == 1; };
  const auto tosses = from_vector(numbers(1)).repeat(40).map_with_random(3, coin).filter(is_head);
  const auto heads = collect(tosses);
  EXPECT_GT(heads.size(), 5u);
  EXPECT_LT(heads.size(), 35u);
  EXPECT_EQ(collect(from_vector(numbers(1)).map_with_random(3, coin).filter(is_head).repeat(40)),
            heads);
}

TEST(Repeat, RestartsEveryKindOfOperator) {
  const auto even = [](int x) { return x % 2 == 0; };
  const auto source = from_vector(numbers(10));
  EXPECT_THAT(collect(source.filter(even).repeat(2)), ElementsAre(0, 2, 4, 6, 8, 0, 2, 4, 6, 8));
  EXPECT_THAT(collect(source.filter(even).take(2).repeat(2)), ElementsAre(0, 2, 0, 2));
  EXPECT_THAT(collect(source.prefetch(2).take(3).repeat(2)), ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_THAT(collect(source.skip(8).repeat(2)), ElementsAre(8, 9, 8, 9));
  EXPECT_THAT(collect(source.filter(even).batch(2).repeat(2)),
              ElementsAre(ElementsAre(0, 2), ElementsAre(4, 6), ElementsAre(8), ElementsAre(0, 2),
                          ElementsAre(4, 6), ElementsAre(8)));
}

TEST(TakeSkip, CutTheEnds) {
  const auto source = from_vector(numbers(5));
  EXPECT_THAT(collect(source.take(2)), ElementsAre(0, 1));
  EXPECT_THAT(collect(source.take(0)), IsEmpty());
  EXPECT_THAT(collect(source.take(9)), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(collect(source.skip(3)), ElementsAre(3, 4));
  EXPECT_THAT(collect(source.skip(5)), IsEmpty());
  EXPECT_THAT(collect(source.skip(1).take(2)), ElementsAre(1, 2));
}

TEST(TakeSkip, WhatIsNotWantedIsNotComputed) {
  std::atomic<int> calls = 0;
  const auto counted = from_vector(numbers(1000)).map([&](int x) { return ++calls, x; });
  collect(counted.skip(900).take(10));
  EXPECT_EQ(calls, 10);
}

TEST(Batch, KeepsOrDropsTheRemainder) {
  const auto source = from_vector(numbers(5));
  EXPECT_THAT(collect(source.batch(2)),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(4)));
  EXPECT_THAT(collect(source.batch(2, DropRemainder::yes)),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  EXPECT_THAT(collect(source.batch(100)), ElementsAre(ElementsAre(0, 1, 2, 3, 4)));
  EXPECT_THAT(collect(source.batch(6, DropRemainder::yes)), IsEmpty());
  EXPECT_THAT(collect(from_vector<int>({}).batch(3)), IsEmpty());
}

TEST(Batch, CanBeMappedBatchedAndShuffledAgain) {
  const auto sums = from_vector(numbers(8)).batch(2).map([](const std::vector<int>& pair) {
    return pair[0] + pair[1];
  });
  EXPECT_THAT(collect(sums), ElementsAre(1, 5, 9, 13));
  EXPECT_THAT(collect(sums.batch(3)), ElementsAre(ElementsAre(1, 5, 9), ElementsAre(13)));
  auto shuffled = collect(from_vector(numbers(8)).batch(2).shuffle(4, 1));
  std::sort(shuffled.begin(), shuffled.end());
  EXPECT_THAT(shuffled, ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(4, 5),
                                    ElementsAre(6, 7)));
}

TEST(Batch, ASizeIsNoReasonToTakeMemory) {
  EXPECT_THAT(collect(from_vector<int>({1, 2}).batch(SIZE_MAX)), ElementsAre(ElementsAre(1, 2)));
}

TEST(Batch, SlotsAreUsedAgain) {
  std::set<const int*> buffers;
  for (const auto& batch : from_vector(numbers(100'000)).batch(100).prefetch(2)) {
    buffers.insert(batch.data());
  }
  EXPECT_LE(buffers.size(), 16u);  // of 1,000 batches
}

TEST(Prefetch, YieldsTheSame) {
  EXPECT_EQ(collect(from_vector(numbers(1000)).prefetch(7)), numbers(1000));
  EXPECT_EQ(collect(from_vector(numbers(1000)).prefetch(1).prefetch(1)), numbers(1000));
  EXPECT_EQ(collect(from_vector(numbers(1000)).prefetch(1'000'000)), numbers(1000));
}

TEST(Dataset, RefusesArgumentsThatMakeNoSense) {
  const auto source = from_vector(numbers(3));
  EXPECT_THROW(source.batch(0), Error);
  EXPECT_THROW(source.shuffle(0, 1), Error);
  EXPECT_THROW(source.prefetch(0), Error);
  EXPECT_THROW(source.repeat(-2), Error);
  EXPECT_THROW(source.with_options({.threads = 1025}).iterate(), Error);
  EXPECT_THROW(source.with_options({.chunk_size = 0}).iterate(), Error);
  EXPECT_THROW(source.with_options({.chunk_size = SIZE_MAX}).iterate(), Error);
}

}  // namespace
}  // namespace recordpipe
