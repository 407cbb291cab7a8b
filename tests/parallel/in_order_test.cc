#include "dataset/parallel/in_order.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace recordpipe::parallel {
namespace {

// The squares of the numbers below `count`. work() throws for `bad_work`, next() instead of
// returning `bad_next`, consume() for `bad_consume`.
struct Squares {
  int count = 1000;
  int bad_next = -1;
  int bad_work = -1;
  int bad_consume = -1;
  std::vector<int> consumed = {};

  std::string run(size_t threads) {
    int number = 0;
    const auto caller = std::this_thread::get_id();
    try {
      in_order<int, int>(
          {.threads = threads},
          [&]() -> std::optional<int> {
            EXPECT_EQ(std::this_thread::get_id(), caller);
            if (number == bad_next) throw std::runtime_error("next " + std::to_string(number));
            if (number == count) return std::nullopt;
            return number++;
          },
          [&](int i) {
            if (i == bad_work) throw std::runtime_error("work " + std::to_string(i));
            return i * i;
          },
          [&](int square) {
            EXPECT_EQ(std::this_thread::get_id(), caller);
            if (bad_consume >= 0 && square == bad_consume * bad_consume)
              throw std::runtime_error("consume");
            consumed.push_back(square);
          });
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  }
};

std::vector<int> squares(int count) {
  std::vector<int> all(static_cast<size_t>(count));
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i * i);
  return all;
}

TEST(InOrder, ConsumesInTheOrderOfTheInputs) {
  for (const size_t threads : {1, 2, 7}) {
    Squares test;
    EXPECT_EQ(test.run(threads), "");
    EXPECT_EQ(test.consumed, squares(1000));
  }
}

TEST(InOrder, ThrowsTheFirstErrorInTheOrderOfTheInputs) {
  for (const size_t threads : {1, 2, 7}) {
    Squares work{.bad_next = 51, .bad_work = 50};
    EXPECT_EQ(work.run(threads), "work 50");
    EXPECT_EQ(work.consumed, squares(50));
    Squares next{.bad_next = 50, .bad_work = 60};
    EXPECT_EQ(next.run(threads), "next 50");
    EXPECT_EQ(next.consumed, squares(50));
    Squares consume{.bad_work = 52, .bad_consume = 50};
    EXPECT_EQ(consume.run(threads), "consume");
    EXPECT_EQ(consume.consumed, squares(50));
  }
}

TEST(InOrder, LimitsTheInputsInFlight) {
  for (const size_t threads : {1, 2, 7}) {
    size_t begun = 0, consumed = 0, most = 0;
    in_order<int, int>(
        {.threads = threads},
        [&]() -> std::optional<int> {
          if (begun == 500) return std::nullopt;
          most = std::max(most, ++begun - consumed);
          return 0;
        },
        [](int i) { return i; }, [&](int) { ++consumed; });
    EXPECT_LE(most, 2 * threads + 1);
    EXPECT_EQ(consumed, 500u);
  }
}

TEST(InOrder, LimitsTheBytesInFlight) {
  size_t begun = 0, consumed = 0, most = 0;
  in_order<int, int>(
      {.threads = 7},
      [&]() -> std::optional<int> {
        if (begun == 50) return std::nullopt;
        most = std::max(most, ++begun - consumed);
        return 0;
      },
      [](int i) { return i; }, [&](int) { ++consumed; },
      [](const int&) { return kMaxInFlight / 2; });
  EXPECT_EQ(most, 2u);
}

TEST(InOrder, NoWorkRunsAfterAnError) {
  for (int trial = 0; trial < 50; ++trial) {
    std::atomic<int> running = 0;
    int number = 0;
    EXPECT_THROW((in_order<int, int>(
                     {.threads = 4}, [&]() -> std::optional<int> { return number++; },
                     [&](int i) {
                       ++running;
                       std::this_thread::yield();
                       --running;
                       if (i == 7) throw std::runtime_error("7");
                       return i;
                     },
                     [](int) {})),
                 std::runtime_error);
    EXPECT_EQ(running, 0);
  }
}

TEST(InOrder, SequencesInSequences) {
  std::vector<int> sums;
  int outer = 0;
  in_order<int, int>(
      {.threads = 3},
      [&]() -> std::optional<int> { return outer < 30 ? std::optional(outer++) : std::nullopt; },
      [](int i) {
        int inner = 0, sum = 0;
        in_order<int, int>(
            {.threads = 3},
            [&]() -> std::optional<int> {
              return inner < 30 ? std::optional(inner++) : std::nullopt;
            },
            [i](int j) { return i * j; }, [&](int product) { sum += product; });
        return sum;
      },
      [&](int sum) { sums.push_back(sum); });
  ASSERT_EQ(sums.size(), 30u);
  for (int i = 0; i < 30; ++i) EXPECT_EQ(sums[static_cast<size_t>(i)], i * 435);
}

}  // namespace
}  // namespace recordpipe::parallel
