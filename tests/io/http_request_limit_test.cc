// Tests the number of requests at a time: halved by busy servers, raised by good answers.
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "dataset/http/request_limit.h"

namespace recordpipe {
namespace {

void answer(RequestLimit& limit, long status) { RequestLimit::Running(limit).answered(status); }

TEST(RequestLimitTest, IsHalvedByBusyServers) {
  RequestLimit limit(16);
  answer(limit, 503);
  EXPECT_EQ(limit.limit(), 8u);
  answer(limit, 429);
  EXPECT_EQ(limit.limit(), 4u);
  answer(limit, 500);
  answer(limit, 404);
  EXPECT_EQ(limit.limit(), 4u);
  for (int i = 0; i < 5; ++i) answer(limit, 503);
  EXPECT_EQ(limit.limit(), 1u);
}

TEST(RequestLimitTest, RequestsThatWereSentTogetherHalveItOnce) {
  RequestLimit limit(16);
  std::vector<std::unique_ptr<RequestLimit::Running>> running;
  for (int i = 0; i < 10; ++i) running.push_back(std::make_unique<RequestLimit::Running>(limit));
  for (const auto& one : running) one->answered(503);
  EXPECT_EQ(limit.limit(), 8u);
}

TEST(RequestLimitTest, IsRaisedByGoodAnswers) {
  RequestLimit limit(4);
  answer(limit, 503);
  EXPECT_EQ(limit.limit(), 2u);
  answer(limit, 200);
  EXPECT_EQ(limit.limit(), 2u);
  answer(limit, 206);
  EXPECT_EQ(limit.limit(), 3u);
  for (int i = 0; i < 100; ++i) answer(limit, 200);
  EXPECT_EQ(limit.limit(), 4u);
}

TEST(RequestLimitTest, RequestsWait) {
  RequestLimit limit(3);
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        RequestLimit::Running one(limit);
        const int now = ++running;
        int known = most;
        while (now > known && !most.compare_exchange_weak(known, now)) {
        }
        one.answered(200);
        --running;
      }
    });
  }
  threads.clear();
  EXPECT_LE(most, 3);
}

}  // namespace
}  // namespace recordpipe
