// Tests the renewal of credentials, also by several threads.
#include "dataset/object_store/refreshed.h"

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace recordpipe {
namespace {

using Clock = std::chrono::system_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

struct Token {
  int number = 0;
  std::optional<Clock::time_point> expires = {};
  bool operator==(const Token&) const = default;
};

TEST(Refreshed, KeepsWhatDoesNotExpire) {
  int fetched = 0;
  Refreshed<Token> token([&] { return Token{++fetched}; });
  EXPECT_EQ(fetched, 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(token.get().number, 1);
  token.discard(Token{7});  // another one than the current one
  EXPECT_EQ(token.get().number, 1);
  token.discard(Token{1});
  EXPECT_EQ(token.get().number, 2);
}

TEST(Refreshed, RenewsBeforeTheEnd) {
  int fetched = 0;
  seconds life = std::chrono::hours(1);
  Refreshed<Token> token([&] { return Token{++fetched, Clock::now() + life}; });
  token.get();
  EXPECT_EQ(token.get().number, 1);
  life = seconds(-1);  // is expired at once
  token.discard(token.get());
  EXPECT_EQ(token.get().number, 2);
  EXPECT_EQ(token.get().number, 3);
}

TEST(Refreshed, KeepsAValidOneIfTheServiceFails) {
  int calls = 0;
  Clock::time_point now = Clock::now();
  const auto fetch = [&] {
    if (++calls > 1) throw Error({.kind = ErrorKind::network, .reason = "no answer"});
    return Token{calls, now + seconds(100)};
  };
  Refreshed<Token> token(fetch, [&] { return now; });
  EXPECT_EQ(token.get().number, 1);
  now += seconds(89);
  EXPECT_EQ(token.get().number, 1);
  EXPECT_EQ(calls, 1);
  now += seconds(2);  // less than a tenth is left
  EXPECT_EQ(token.get().number, 1);
  EXPECT_EQ(token.get().number, 1);
  EXPECT_EQ(calls, 2) << "the next attempt is due in 10 s, or at the end";
  now += seconds(9);
  EXPECT_EQ(error_of([&] { token.get(); }).reason(), "no answer");
  EXPECT_EQ(calls, 3);
}

TEST(Refreshed, IsThreadSafe) {
  std::atomic<int> fetched = 0;
  Refreshed<Token> token([&] { return Token{++fetched, Clock::now() + milliseconds(5)}; });
  std::atomic<bool> went_back = false;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        int last = 0;
        for (int n = 0; n < 2000; ++n) {
          const Token got = token.get();
          if (got.number < last) went_back = true;
          last = got.number;
          if (n % 100 == 0) token.discard(got);
        }
      });
    }
  }
  EXPECT_FALSE(went_back);
  EXPECT_GT(fetched, 1);
}

}  // namespace
}  // namespace recordpipe
