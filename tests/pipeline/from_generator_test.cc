// Tests elements from functions: their order, the same elements in each pass, and saved states.
#include "recordpipe/pipeline/from_generator.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/pipeline/from_vector.h"
#include "tests/pipeline/collect.h"
#include "tests/pipeline/naive/pipeline.h"
#include "tests/pipeline/resume.h"
#include "tests/support/expect_error.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;

// Returns a factory of generators for 0 to n-1.
auto counting(int n) {
  return [n] {
    return [n, next = 0]() mutable { return next < n ? std::optional(next++) : std::nullopt; };
  };
}

// The same, but the generator throws in place of element `bad`.
auto failing_at(int bad, int n) {
  return [=] {
    return [=, next = 0]() mutable -> std::optional<int> {
      if (next == bad)
        throw Error({.kind = ErrorKind::io, .reason = "number " + std::to_string(bad)});
      return next < n ? std::optional(next++) : std::nullopt;
    };
  };
}

TEST(FromGenerator, YieldsWhatItMakesInEachPass) {
  for (const int n : {0, 1, 63, 64, 65, 1000}) {
    EXPECT_EQ(collect(from_generator(counting(n))), numbers(n));
  }
  EXPECT_THAT(collect(from_generator(counting(3)).repeat(3)),
              ElementsAre(0, 1, 2, 0, 1, 2, 0, 1, 2));
  EXPECT_EQ(from_generator(counting(3)).batch(2).explain(),
            "from_generator()\nbatch(batch_size=2, drop_remainder=false)\n");
}

TEST(FromGenerator, TakesWhatCanBeCalled) {
  using Step = std::function<std::optional<std::string>()>;
  const std::function<Step()> factory = [] {
    auto letter = std::make_shared<char>('a');
    return Step([letter]() -> std::optional<std::string> {
      if (*letter > 'c') return std::nullopt;
      return std::string(1, (*letter)++);
    });
  };
  EXPECT_THAT(collect(from_generator(factory).repeat(2)),
              ElementsAre("a", "b", "c", "a", "b", "c"));

  // Values that can't be copied, from a factory function.
  const auto unique = [] {
    return [left = std::make_unique<int>(2)]() {
      return *left > 0 ? std::optional(std::make_unique<int>((*left)--)) : std::nullopt;
    };
  };
  EXPECT_THAT(collect(from_generator(unique).map([](std::unique_ptr<int> x) { return *x; })),
              ElementsAre(2, 1));
}

TEST(FromGenerator, EqualsTheSameElementsOfAVector) {
  const auto rest = [](const auto& source) {
    return source
        .map_with_random(
            3, [](int x, Random& random) { return x ^ static_cast<int>(random.below(1000)); })
        .shuffle(20, 1)
        .filter([](int x) { return x % 3 != 0; })
        .repeat(3)
        .batch(7);
  };
  const auto expected = rest(naive::from_vector(numbers(500))).values();
  for (const Dataset<std::vector<int>>& run : on_any_machine(rest(from_generator(counting(500))))) {
    EXPECT_EQ(collect(run), expected);
    EXPECT_EQ(collect(run.prefetch(2)), expected);
  }
}

TEST(FromGenerator, GoesOnAnywhere) {
  const auto source = from_generator(counting(130));
  expect_resumes_anywhere(source, on_any_machine(source));
  const auto more = source.shuffle(30, 1).repeat(2).batch(4).prefetch(2);
  expect_resumes_anywhere(more, on_any_machine(more));
}

TEST(FromGenerator, AnErrorKeepsItsPlaceAndEndsThePass) {
  for (const int bad : {0, 1, 64, 100}) {
    for (const Dataset<int>& run : on_any_machine(from_generator(failing_at(bad, 200)))) {
      for (const Dataset<int>& dataset : {run, run.prefetch(3), run.ignore_errors()}) {
        auto iterator = dataset.iterate();
        for (int i = 0; i < bad; ++i) {
          const int* element = iterator.next();
          ASSERT_NE(element, nullptr);
          ASSERT_EQ(*element, i);
        }
        for (int again = 0; again < 2; ++again) {
          EXPECT_EQ(error_of([&] { iterator.next(); }).reason(), "number " + std::to_string(bad));
        }
      }
    }
  }
  auto past = from_generator(failing_at(10, 200)).skip(50).iterate();
  EXPECT_EQ(error_of([&] { past.next(); }).reason(), "number 10");

  const auto no_generator = []() -> std::function<std::optional<int>()> {
    throw Error({.kind = ErrorKind::not_found, .reason = "no generator"});
  };
  auto iterator = from_generator(no_generator).iterate();
  EXPECT_EQ(error_of([&] { iterator.next(); }).reason(), "no generator");
}

TEST(FromGenerator, MakesNothingBeforeItIsAskedAndNothingAfterTheEnd) {
  auto calls = std::make_shared<std::atomic<int>>(0);
  const auto factory = [calls] {
    ++*calls;
    return [calls, next = 0]() mutable -> std::optional<int> {
      ++*calls;
      return next < 5 ? std::optional(next++) : std::nullopt;
    };
  };
  auto iterator = from_generator(factory).iterate();
  EXPECT_EQ(*calls, 0);
  EXPECT_EQ(rest_of(iterator).size(), 5u);
  EXPECT_EQ(*calls, 7);
  EXPECT_EQ(iterator.next(), nullptr);
  EXPECT_EQ(*calls, 7);
}

TEST(FromGenerator, EndlessOnesAreStopped) {
  const auto endless = [] { return [n = 0]() mutable { return std::optional(n++); }; };
  EXPECT_EQ(collect(from_generator(endless).prefetch(10).take(1000)), numbers(1000));
  // A thread is busy discarding elements when the stop is requested.
  auto iterator = from_vector(numbers(1))
                      .concatenate(from_generator(endless).skip(uint64_t{1} << 60).prefetch(1))
                      .prefetch(1)
                      .iterate();
  ASSERT_NE(iterator.next(), nullptr);
  { const auto dropped = std::move(iterator); }
}

TEST(FromGenerator, FewerThanBeforeAreRefused) {
  auto length = std::make_shared<int>(20);
  const auto source = from_generator([length] { return counting(*length)(); });
  auto saving = source.iterate();
  for (int i = 0; i < 15; ++i) saving.next();
  const std::string state = saving.state();
  *length = 10;
  auto restored = source.iterate();
  EXPECT_EQ(error_of([&] { restored.restore(state); }).kind(), ErrorKind::invalid_argument);
}

}  // namespace
}  // namespace recordpipe
