// Tests random access, and global_shuffle, which uses it.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/pipeline/from_vector.h"
#include "recordpipe/pipeline/range.h"
#include "tests/pipeline/collect.h"
#include "tests/pipeline/resume.h"
#include "tests/support/expect_error.h"

namespace recordpipe {
namespace {

using testing::HasSubstr;

template <class T>
std::vector<T> sorted(std::vector<T> values) {
  std::ranges::sort(values);
  return values;
}

TEST(GlobalShuffle, YieldsEachElementOnceInAnotherOrderEachEpochAndForEachSeed) {
  for (const int n : {0, 1, 2, 17, 1000}) {
    const auto source = from_vector(numbers(n));
    EXPECT_EQ(sorted(collect(source.global_shuffle(1))), numbers(n));
  }
  const auto source = from_vector(numbers(500));
  const auto twice = collect(source.global_shuffle(1).repeat(2));
  const std::vector<int> first(twice.begin(), twice.begin() + 500);
  const std::vector<int> second(twice.begin() + 500, twice.end());
  EXPECT_NE(first, second);
  EXPECT_EQ(sorted(second), numbers(500));
  EXPECT_NE(collect(source.global_shuffle(2)), first);
  EXPECT_EQ(collect(source.global_shuffle(1)), first);
}

TEST(GlobalShuffle, RandomNumbersBelongToTheElement) {
  const auto draw = [](int x, Random& random) { return std::pair(x, random.next64()); };
  const auto drawn = from_vector(numbers(100)).map_with_random(3, draw);
  EXPECT_EQ(sorted(collect(drawn.global_shuffle(1))), collect(drawn));
}

TEST(GlobalShuffle, WorksBehindAllThatHasRandomAccess) {
  const auto number = [](const Enumerated<int64_t>& x) { return x.first * 1000 + x.second; };
  const auto source = range(5, 3000, 7).skip(3).enumerate(50).map(number).take(200);
  EXPECT_EQ(sorted(collect(source.global_shuffle(9))), collect(source));
  EXPECT_EQ(collect(source.skip(1000).global_shuffle(9)).size(), 0u);
}

TEST(GlobalShuffle, NamesTheOperatorThatHasNoRandomAccess) {
  const auto source = from_vector(numbers(10));
  const auto refusal = [](const auto& dataset) {
    const Error error = error_of([&] { dataset.global_shuffle(1); });
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    return error.reason();
  };
  const auto all = [](int) { return true; };
  EXPECT_THAT(refusal(source.filter(all).map([](int x) { return x; }).take(4).enumerate()),
              HasSubstr("the elements of filter can't"));
  EXPECT_THAT(refusal(source.shuffle(5, 1).skip(2)), HasSubstr("of shuffle"));
  EXPECT_THAT(refusal(source.repeat()), HasSubstr("of repeat"));
  EXPECT_THAT(refusal(source.window(2, 1).batch(2)), HasSubstr("of window"));
  EXPECT_THAT(refusal(source.global_shuffle(2)), HasSubstr("of shuffle"));
}

TEST(GlobalShuffle, RefusesMoreElementsThanCanBeNumbered) {
  const auto half = range(INT64_MIN, 0);
  EXPECT_EQ(*half.concatenate(range(0, INT64_MAX)).global_shuffle(1).iterate().next(),
            *half.concatenate(range(0, INT64_MAX)).global_shuffle(1).iterate().next());
  const auto too_many = half.concatenate(half).global_shuffle(1);
  EXPECT_THAT(error_of([&] { too_many.iterate().next(); }).reason(),
              HasSubstr("concatenate: more than 18446744073709551615 elements"));
}

TEST(GlobalShuffle, GoesOnAnywhere) {
  const auto dataset = range(97).enumerate().global_shuffle(5).repeat(3);
  expect_resumes_anywhere(dataset, on_any_machine(dataset));
}

// To plan these elements one by one would take years.
TEST(GlobalShuffle, PassesOverElementsInNoTime) {
  constexpr int64_t kMany = int64_t{1} << 60;
  const auto order = range(kMany).global_shuffle(5);
  auto far = order.skip(kMany - 2).iterate();
  const int64_t* first = far.next();
  ASSERT_NE(first, nullptr);
  const int64_t last_but_one = *first;
  const int64_t* second = far.next();
  ASSERT_NE(second, nullptr);
  EXPECT_NE(*second, last_but_one);
  EXPECT_EQ(far.next(), nullptr);
}

TEST(Enumerate, NumbersFromTheStartInEachEpoch) {
  const auto letters = from_vector<char>({'a', 'b', 'c'});
  const auto out = collect(letters.enumerate(5).repeat(2));
  const std::vector<Enumerated<char>> expected{{5, 'a'}, {6, 'b'}, {7, 'c'},
                                               {5, 'a'}, {6, 'b'}, {7, 'c'}};
  EXPECT_EQ(out, expected);
}

TEST(Enumerate, LeavesTheElementsRandomNumbers) {
  const auto draw = [](int x, Random& random) { return std::pair(x, random.next64()); };
  const auto draw_second = [](const Enumerated<int>& x, Random& random) {
    return std::pair(x.second, random.next64());
  };
  const auto shuffled = from_vector(numbers(50)).shuffle(50, 1);
  EXPECT_EQ(collect(shuffled.enumerate().map_with_random(2, draw_second)),
            collect(shuffled.map_with_random(2, draw)));
}

TEST(Range, IsTfDatas) {
  using Numbers = std::vector<int64_t>;
  EXPECT_EQ(collect(range(4)), (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(collect(range(1, 10, 3)), (Numbers{1, 4, 7}));
  EXPECT_EQ(collect(range(1, 11, 3)), (Numbers{1, 4, 7, 10}));
  EXPECT_EQ(collect(range(5, 0, -2)), (Numbers{5, 3, 1}));
  EXPECT_EQ(collect(range(3, 3)), Numbers{});
  EXPECT_EQ(collect(range(3, 1)), Numbers{});
  EXPECT_EQ(collect(range(1, 3, -1)), Numbers{});
  EXPECT_EQ(collect(range(INT64_MIN, INT64_MAX, INT64_MAX)),
            (Numbers{INT64_MIN, -1, INT64_MAX - 1}));
  EXPECT_EQ(collect(range(INT64_MAX, INT64_MIN, INT64_MIN)), (Numbers{INT64_MAX, -1}));
  EXPECT_EQ(error_of([] { range(0, 1, 0); }).kind(), ErrorKind::invalid_argument);
  EXPECT_EQ(range(1, 10, 3).explain(), "range(begin=1, end=10, step=3)\n");
}

}  // namespace
}  // namespace recordpipe
