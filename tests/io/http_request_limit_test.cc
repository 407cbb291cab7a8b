// Tests the number of requests at a time: halved by busy servers, raised by good answers.
#include <vector>

#include <gtest/gtest.h>

#include "dataset/http/transfer/request_limit.h"

namespace recordpipe {
namespace {

void answer(RequestLimit& limit, long status) { limit.answered(status, limit.halvings()); }

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
  const size_t sent = limit.halvings();
  for (int i = 0; i < 10; ++i) limit.answered(503, sent);
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
  std::vector<RequestLimit::Running> running;
  for (int i = 0; i < 3; ++i) running.push_back(limit.begin());
  EXPECT_EQ(limit.begin(), nullptr);
  running.pop_back();
  EXPECT_NE(running.emplace_back(limit.begin()), nullptr);
  // One that was paused doesn't wait.
  running.push_back(limit.go_on());
  running.resize(3);
  EXPECT_EQ(limit.begin(), nullptr);
}

}  // namespace
}  // namespace recordpipe
