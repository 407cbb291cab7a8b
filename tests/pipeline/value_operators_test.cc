// Tests operators on values. Where tf.data's documentation shows results, they must be the same.
#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataset/pipeline/plan/node.h"
#include "dataset/pipeline/plan/stage_context.h"
#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/pipeline/from_vector.h"
#include "tests/pipeline/collect.h"
#include "tests/support/expect_error.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(FlatMap, TakesVectorsAndDatasets) {
  const auto source = from_vector(std::vector<int>{2, 0, 3});
  EXPECT_THAT(collect(source.flat_map([](int n) { return numbers(n); })),
              ElementsAre(0, 1, 0, 1, 2));
  EXPECT_THAT(collect(source.flat_map([](int n) { return from_vector(numbers(n)); })),
              ElementsAre(0, 1, 0, 1, 2));
}

TEST(FlatMap, WhatAnElementBecameDrawsNumbersOfItsOwn) {
  const auto draw = [](int, Random& random) { return random.next64(); };
  const auto three = [](int x) { return std::vector<int>{x, x, x}; };
  const auto check = [](const std::vector<uint64_t>& drawn) {
    EXPECT_EQ(std::set<uint64_t>(drawn.begin(), drawn.end()).size(), drawn.size());
  };
  const auto source = from_vector(numbers(100));
  check(collect(source.flat_map(three).flat_map(three).repeat(3).map_with_random(1, draw)));
  check(collect(source.batch(7).unbatch().repeat(3).map_with_random(1, draw)));
  check(collect(source.repeat(3)
                    .interleave([&](int x) { return from_vector(three(x)).repeat(2); }, 4, 2)
                    .map_with_random(1, draw)));
  // Random numbers are drawn inside and outside flat_map, with the same seed.
  const auto twice =
      collect(source.flat_map([&](int x) { return from_vector(three(x)).map_with_random(1, draw); })
                  .map_with_random(1,
                                   [&](uint64_t x, Random& random) {
                                     return std::vector<uint64_t>{x, random.next64()};
                                   })
                  .unbatch());
  check(twice);
}

TEST(FlatMap, AnElementDrawsTheSameWhateverOthersBecome) {
  const auto draw = [](int x, Random& random) { return std::pair(x, random.next64()); };
  const auto run = [&](int odd) {
    auto drawn =
        collect(from_vector(numbers(50))
                    .flat_map([odd](int x) {
                      return std::vector<int>(x % 2 == 0 ? 2u : static_cast<size_t>(odd), x);
                    })
                    .map_with_random(1, draw));
    std::erase_if(drawn, [](const auto& pair) { return pair.first % 2 != 0; });
    return drawn;
  };
  EXPECT_EQ(run(0), run(5));
}

// The example in tf.data's documentation of interleave.
TEST(Interleave, TakesTurnsAsTfDataDoes) {
  const auto out = collect(from_vector(std::vector<int>{1, 2, 3, 4, 5})
                               .interleave([](int x) { return from_vector(std::vector(6, x)); },
                                           /*cycle_length=*/2, /*block_length=*/4));
  EXPECT_THAT(out, ElementsAre(1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 3, 3, 4,
                               4, 5, 5, 5, 5, 5, 5));
}

TEST(Interleave, InputsThatAreRandomDifferFromEachOtherAndFromEpochToEpoch) {
  const auto shuffled = [](int) { return from_vector(numbers(100)).shuffle(100, 7); };
  const auto out = collect(from_vector(numbers(3)).flat_map(shuffled).repeat(2).batch(100));
  ASSERT_EQ(out.size(), 6u);
  EXPECT_EQ(std::set(out.begin(), out.end()).size(), 6u);
}

TEST(Interleave, RefusesACycleOfNone) {
  const auto open = [](int n) { return from_vector(numbers(n)); };
  EXPECT_THROW(from_vector(numbers(3)).interleave(open, 0), Error);
  EXPECT_THROW(from_vector(numbers(3)).interleave(open, 1, 0), Error);
}

// The example in tf.data's documentation of window.
TEST(Window, ShiftsAsTfDataDoes) {
  const auto source = from_vector(numbers(7));
  using V = std::vector<int>;
  EXPECT_THAT(collect(source.window(3)), ElementsAre(V{0, 1, 2}, V{3, 4, 5}, V{6}));
  EXPECT_THAT(collect(source.window(3, {}, DropRemainder::yes)),
              ElementsAre(V{0, 1, 2}, V{3, 4, 5}));
  EXPECT_THAT(collect(source.window(3, 1)), ElementsAre(V{0, 1, 2}, V{1, 2, 3}, V{2, 3, 4},
                                                        V{3, 4, 5}, V{4, 5, 6}, V{5, 6}, V{6}));
  EXPECT_THAT(collect(source.window(2, 3)), ElementsAre(V{0, 1}, V{3, 4}, V{6}));
  EXPECT_THAT(collect(source.take(0).window(2)), ElementsAre());
}

TEST(PaddedBatch, FillsRowsUpToTheLongest) {
  const auto source = from_vector(numbers(5)).map([](int n) { return numbers(n); });
  const auto out = collect(source.padded_batch(3, -1));
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].length, 2u);
  EXPECT_THAT(out[0].values, ElementsAre(-1, -1, 0, -1, 0, 1));
  EXPECT_THAT(out[0].lengths, ElementsAre(0, 1, 2));
  EXPECT_THAT(out[1].row(0), ElementsAre(0, 1, 2, -1));
  EXPECT_THAT(out[1].row(1), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(collect(source.padded_batch(3, -1, DropRemainder::yes)).size(), 1u);
}

TEST(PaddedBatch, OfAFixedLengthRefusesLongerRows) {
  const auto source = from_vector(numbers(5)).map([](int n) { return numbers(n); });
  EXPECT_THAT(collect(source.take(3).padded_batch(3, 9, DropRemainder::no, 4))[0].row(2),
              ElementsAre(0, 1, 9, 9));
  const auto short_rows = source.padded_batch(3, 9, DropRemainder::no, 3);
  EXPECT_THAT(error_of([&] { collect(short_rows); }).reason(), HasSubstr("length=3"));
  EXPECT_EQ(collect(short_rows.ignore_errors()).size(), 1u);
  EXPECT_THAT(short_rows.explain(), HasSubstr("padded_batch(batch_size=3, drop_remainder=false, "
                                              "padding=9, length=3)"));
}

TEST(PaddedBatch, OfMoreValuesThanThereIsMemoryIsRefused) {
  const auto source = from_vector(numbers(4)).map([](int n) { return numbers(n % 2); });
  for (const size_t length : {size_t{1} << 60, size_t{1} << 62, SIZE_MAX}) {
    const auto batches = source.padded_batch(4, 9, DropRemainder::no, length);
    const Error error = error_of([&] { collect(batches); });
    EXPECT_EQ(error.kind(), ErrorKind::limit_exceeded);
    EXPECT_THAT(error.reason(), HasSubstr("4 rows of " + std::to_string(length)));
  }
}

TEST(PaddedBatch, AnotherPaddingIsAnotherPlan) {
  const auto source = from_vector(std::vector<std::vector<double>>{{1}});
  EXPECT_NE(source.padded_batch(2, 1e-9).plan_hash(), source.padded_batch(2, 2e-9).plan_hash());
  EXPECT_EQ(source.padded_batch(2, 0.1).plan_hash(), source.padded_batch(2, 0.1).plan_hash());
  EXPECT_THAT(source.padded_batch(2, 0.5).explain(), HasSubstr("padding=0.5,"));
}

// The chunks of unbatch are as small as those of a source, however large the batches were.
TEST(Unbatch, MakesChunksOfElements) {
  const auto context = internal::make_stage_context({.threads = 1, .chunk_size = 50});
  for (const size_t batch_size : {1, 7, 1000}) {
    const auto elements = from_vector(numbers(10)).batch(batch_size).unbatch();
    EXPECT_EQ(internal::DatasetNode::of(elements)->make_stage(context).chunk_size, 50u);
  }
}

TEST(Scan, CarriesItsStateFromElementToElement) {
  const auto sums = [](int sum, int x) { return std::pair(sum + x, sum + x); };
  EXPECT_THAT(collect(from_vector(numbers(6)).scan(0, sums)), ElementsAre(0, 1, 3, 6, 10, 15));
  EXPECT_THAT(collect(from_vector(numbers(3)).scan(1, sums).repeat(2)),
              ElementsAre(1, 2, 4, 1, 2, 4));
}

TEST(Scan, AnElementThatFailsLeavesTheStateAsItWas) {
  const auto sums = [](int sum, int x) {
    if (x == 3) throw Error({.kind = ErrorKind::corrupted, .reason = "three"});
    return std::pair(sum + x, sum + x);
  };
  EXPECT_THAT(collect(from_vector(numbers(6)).scan(0, sums).ignore_errors()),
              ElementsAre(0, 1, 3, 7, 12));
}

TEST(Scan, AnElementThatCantBeMovedLeavesTheStateAsItWas) {
  struct Fussy {
    int value = 0;
    Fussy() = default;
    explicit Fussy(int x) : value(x) {}
    Fussy(Fussy&&) = default;
    Fussy& operator=(Fussy&& other) {
      if (other.value == 6) throw Error({.kind = ErrorKind::corrupted, .reason = "six"});
      value = other.value;
      return *this;
    }
  };
  const auto sums = from_vector(numbers(6)).scan(0, [](int sum, int x) {
    return std::pair<int, Fussy>(sum + x, sum + x);
  });
  EXPECT_THAT(collect(sums.ignore_errors().map([](const Fussy& sum) { return sum.value; })),
              ElementsAre(0, 1, 3, 7, 12));
}

}  // namespace
}  // namespace recordpipe
