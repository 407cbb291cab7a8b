// Tests the operators on several datasets: concatenate, zip, sample_from_datasets.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/pipeline/from_vector.h"
#include "recordpipe/pipeline/range.h"
#include "recordpipe/pipeline/sample_from_datasets.h"
#include "recordpipe/pipeline/zip.h"
#include "tests/pipeline/collect.h"
#include "tests/pipeline/naive/pipeline.h"
#include "tests/pipeline/resume.h"
#include "tests/support/expect_error.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

uint64_t draw_alone(int64_t, Random& random) { return random.next64(); }

int64_t fail_at_5(int64_t x) {
  if (x == 5) throw Error({.kind = ErrorKind::corrupted, .reason = "five"});
  return x;
}

TEST(Concatenate, YieldsOneAfterTheOther) {
  EXPECT_THAT(collect(range(3).concatenate(range(10, 12))), ElementsAre(0, 1, 2, 10, 11));
  EXPECT_THAT(collect(range(0).concatenate(range(2)).concatenate(range(0)).repeat(2)),
              ElementsAre(0, 1, 0, 1));
}

TEST(Concatenate, HasRandomAccessWhereItsInputsHave) {
  const auto both = range(50).concatenate(range(50, 80)).concatenate(range(80, 100));
  auto out = collect(both.global_shuffle(1));
  EXPECT_NE(out, collect(both));
  std::ranges::sort(out);
  EXPECT_EQ(out, collect(range(100)));
  const Error error =
      error_of([] { range(3).concatenate(range(3).shuffle(2, 1)).global_shuffle(1); });
  EXPECT_THAT(error.reason(), HasSubstr("shuffle can't"));
}

// This includes elements of the same source: random numbers belong to an element, and each use of
// the source makes new elements.
TEST(Combined, NoTwoElementsDrawTheSame) {
  const auto source = range(100);
  const auto twice = source.concatenate(source);
  const auto sampled = sample_from_datasets<int64_t>({twice, source, source}, {}, 3);
  const auto drawn = collect(sampled.repeat(2).map_with_random(7, draw_alone));
  EXPECT_EQ(std::set<uint64_t>(drawn.begin(), drawn.end()).size(), 800u);

  const auto own = source.map_with_random(7, draw_alone);
  std::set<uint64_t> zipped;
  for (const auto& [a, b] : collect(zip(own, own))) {
    zipped.insert(a);
    zipped.insert(b);
  }
  EXPECT_EQ(zipped.size(), 200u);
}

TEST(Combined, AnOrderIsTheSameWhereverItIsDrawn) {
  const auto source = range(50);
  const std::vector<Dataset<int64_t>> ordered{
      source.shuffle(9, 7), source.global_shuffle(7),
      sample_from_datasets<int64_t>({source, range(100, 150)}, {1, 2}, 7)};
  const auto first = [](const std::tuple<int64_t, int64_t>& pair) { return std::get<0>(pair); };
  const auto second = [](const std::tuple<int64_t, int64_t>& pair) { return std::get<1>(pair); };
  for (const auto& dataset : ordered) {
    for (const uint64_t epoch : {0, 1, 9}) {
      const auto in_epoch = [&](const auto& made) { return collect(made.epoch(epoch)); };
      const std::vector<int64_t> alone = in_epoch(dataset);
      std::vector<int64_t> twice = alone;
      twice.insert(twice.end(), alone.begin(), alone.end());
      EXPECT_EQ(in_epoch(dataset.concatenate(dataset)), twice);
      const auto other = source.repeat().shuffle(4, 1);
      EXPECT_EQ(in_epoch(zip(other, dataset).map(second)), alone);
      EXPECT_EQ(in_epoch(zip(zip(dataset, other).map(first), other).map(first)), alone);
      EXPECT_EQ(in_epoch(zip(dataset.repeat(2), other).map(first)), in_epoch(dataset.repeat(2)));
      EXPECT_EQ(in_epoch(sample_from_datasets<int64_t>({other, dataset}, {0, 1}, 3)), alone);
    }
  }
}

TEST(Zip, EndsWithTheShortest) {
  const auto letters = from_vector<char>({'a', 'b', 'c'});
  const std::vector<std::tuple<char, int64_t>> expected{{'a', 7}, {'b', 8}};
  EXPECT_EQ(collect(zip(letters, range(7, 9))), expected);
  EXPECT_EQ(collect(zip(letters, range(100).repeat(), range(7, 9).prefetch(1))).size(), 2u);
  EXPECT_EQ(collect(zip(range(0), letters)).size(), 0u);
  EXPECT_EQ(collect(zip(letters)).size(), 3u);
}

TEST(Zip, AFailureOfOneFailsTheWhole) {
  const auto failing = zip(range(10), range(10).map(fail_at_5), range(10).map(fail_at_5));
  auto iterator = failing.iterate();
  for (int i = 0; i < 5; ++i) ASSERT_NE(iterator.next(), nullptr);
  EXPECT_EQ(error_of([&] { iterator.next(); }).reason(), "five");
  EXPECT_EQ(collect(failing.ignore_errors()).size(), 9u);
  // Elements after the end of the shortest input are not computed.
  EXPECT_EQ(collect(zip(range(5), range(10).map(fail_at_5))).size(), 5u);
}

TEST(Zip, HasRandomAccess) {
  const auto both = zip(range(100), range(100, 150));
  auto out = collect(both.global_shuffle(1));
  std::ranges::sort(out);
  EXPECT_EQ(out, collect(both));
}

TEST(Sample, DrawsByWeightAndKeepsEachInputsOrder) {
  const auto sampled =
      sample_from_datasets<int64_t>({range(100'000), range(-1, -100'000, -1)}, {3, 1}, 5);
  const auto all = collect(sampled.take(40'000));
  std::vector<int64_t> first, second;
  for (const int64_t x : all) (x >= 0 ? first : second).push_back(x);
  EXPECT_NEAR(static_cast<double>(first.size()), 30'000, 400);  // 4.6 standard deviations
  EXPECT_TRUE(std::ranges::is_sorted(first));
  EXPECT_TRUE(std::ranges::is_sorted(second, std::greater<>()));
}

TEST(Sample, GoesOnWithTheOthersOrStopsWhenOneRunsOut) {
  const std::vector<Dataset<int64_t>> inputs{range(10), range(100, 500)};
  EXPECT_EQ(collect(sample_from_datasets(inputs, {}, 1)).size(), 410u);
  const auto stopped = collect(sample_from_datasets(inputs, {}, 1, StopOnEmptyDataset::yes));
  EXPECT_LT(stopped.size(), 60u);
  EXPECT_EQ(std::ranges::count_if(stopped, [](int64_t x) { return x < 100; }), 10);
  EXPECT_EQ(collect(sample_from_datasets(inputs, {1, 0}, 1)).size(), 10u);
  EXPECT_NE(collect(sample_from_datasets(inputs, {}, 2)),
            collect(sample_from_datasets(inputs, {}, 1)));
}

// An input is not omitted, however small its weight is.
TEST(Sample, ASmallWeightIsNotNone) {
  for (const double weight : {1e-9, 0x1p-32, 0x1p-40, 1e-300}) {
    SCOPED_TRACE(weight);
    const auto sampled =
        collect(sample_from_datasets<int64_t>({range(100), range(100, 105)}, {1, weight}, 1));
    EXPECT_EQ(sampled, collect(range(105)));
  }
  // After the first input ends, the others are drawn in the ratio 1 to 2.
  const std::vector<double> weights{1, 0x1p-40, 0x1p-39};
  const auto rare =
      collect(sample_from_datasets<int64_t>({range(1), range(1, 5001), range(-9999, 0)}, weights, 1)
                  .skip(1)
                  .take(6000));
  EXPECT_NEAR(static_cast<double>(std::ranges::count_if(rare, [](int64_t x) { return x > 0; })),
              2000, 170);  // 4.6 standard deviations
}

TEST(Sample, RefusesWeightsThatAreNone) {
  const std::vector<Dataset<int64_t>> inputs{range(1), range(2)};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::vector<double>& weights :
       {std::vector<double>{1}, {1, -1}, {0, 0}, {nan, 1}, {1e308, 1e308}}) {
    EXPECT_EQ(error_of([&] { sample_from_datasets(inputs, weights, 1); }).kind(),
              ErrorKind::invalid_argument);
  }
  EXPECT_EQ(error_of([&] { sample_from_datasets<int64_t>({}, {}, 1); }).kind(),
            ErrorKind::invalid_argument);
}

template <class T>
void expect_equals(const Dataset<T>& dataset, const naive::Pipeline<T>& twin) {
  const std::vector<T> expected = twin.values();
  EXPECT_FALSE(expected.empty());
  for (const Dataset<T>& run : on_any_machine(dataset)) {
    EXPECT_TRUE(collect(run) == expected) << run.explain();
    EXPECT_TRUE(collect(run.prefetch(3)) == expected) << run.explain();
  }
}

TEST(Combined, EqualTheirTwins) {
  const auto draw_int = [](int x, Random& r) { return x ^ static_cast<int>(r.below(1 << 20)); };
  const auto draw_second = [](const auto& x, Random& r) { return std::get<1>(x) + r.next64(); };
  // Each function applies to a pipeline and to its twin, which have the same member functions.
  const auto mixed = [&](const auto& source) {
    return source.shuffle(30, 1).map_with_random(2, draw_int);
  };
  const auto sifted = [&](const auto& source) {
    return source.filter([](int x) { return x % 3 != 0; }).map_with_random(2, draw_int).repeat(2);
  };
  const auto a = mixed(from_vector(numbers(150)));
  const auto b = sifted(from_vector(numbers(200)));
  const auto twin_a = mixed(naive::from_vector(numbers(150)));
  const auto twin_b = sifted(naive::from_vector(numbers(200)));

  expect_equals(a.concatenate(b).repeat(2).map_with_random(2, draw_int),
                twin_a.concatenate(twin_b).repeat(2).map_with_random(2, draw_int));
  expect_equals(zip(a, b).repeat(2).map_with_random(2, draw_second),
                twin_a.zip(twin_b).repeat(2).map_with_random(2, draw_second));
  expect_equals(a.enumerate(7).repeat(2).map_with_random(2, draw_second),
                twin_a.enumerate(7).repeat(2).map_with_random(2, draw_second));
  for (const auto stop : {StopOnEmptyDataset::no, StopOnEmptyDataset::yes}) {
    const auto sampled = sample_from_datasets<int>({a, b}, {1, 3}, 5, stop);
    const auto twin = twin_a.sample(twin_b, {uint64_t{1} << 60, uint64_t{3} << 60}, 5,
                                    stop == StopOnEmptyDataset::yes);
    expect_equals(sampled.repeat(2).map_with_random(2, draw_int),
                  twin.repeat(2).map_with_random(2, draw_int));
  }
  for (const size_t index : {0, 1, 2}) {
    for (const auto drop : {DropRemainder::no, DropRemainder::yes}) {
      expect_equals(b.shard(3, index, drop).repeat(2).map_with_random(2, draw_int),
                    twin_b.shard(3, index, drop == DropRemainder::yes)
                        .repeat(2)
                        .map_with_random(2, draw_int));
    }
  }
  const auto source = from_vector(numbers(150));
  const auto twin_source = naive::from_vector(numbers(150));
  expect_equals(
      zip(source, source.concatenate(source).skip(20)).global_shuffle(3).repeat(3),
      twin_source.zip(twin_source.concatenate(twin_source).skip(20)).global_shuffle(3).repeat(3));
}

TEST(Combined, GoOnAnywhere) {
  const auto odd = [](int64_t x) { return x % 2 == 1; };
  const auto a = range(60).shuffle(9, 1);
  const auto b = range(100).filter(odd).prefetch(3);
  const auto concatenated = a.concatenate(b).repeat(2);
  expect_resumes_anywhere(concatenated, on_any_machine(concatenated));
  const auto zipped = zip(b, a, range(70).batch(2)).repeat(2).prefetch(2);
  expect_resumes_anywhere(zipped, on_any_machine(zipped));
  const auto sampled = sample_from_datasets<int64_t>({a, b, range(5)}, {2, 1, 1}, 3).repeat(2);
  expect_resumes_anywhere(sampled, on_any_machine(sampled));
}

}  // namespace
}  // namespace recordpipe
