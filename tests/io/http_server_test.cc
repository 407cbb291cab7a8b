// Tests the log of the HTTP server that other tests start.
#include "tests/support/http_server.h"

#include <sstream>

#include <gtest/gtest.h>

namespace recordpipe {
namespace {

TEST(HttpServer, ALineOfTheLogThatIsStillBeingWrittenIsNoRequestYet) {
  const std::string first = R"({"url": "/a", "status": 206, "headers": {"Range": "bytes=5-9"}})";
  const std::string second = R"({"url": "/b", "status": 404, "headers": {}})";
  for (const size_t written : {size_t{0}, size_t{1}, second.size() / 2, second.size()}) {
    std::istringstream log(first + "\n" + second.substr(0, written));
    const auto requests = HttpServer::parse_log(log);
    ASSERT_EQ(requests.size(), 1u) << written;
    EXPECT_EQ(requests[0].url, "/a");
    EXPECT_EQ(requests[0].status, 206);
    EXPECT_EQ(requests[0].range, "bytes=5-9");
  }
  std::istringstream log(first + "\n" + second + "\n");
  const auto requests = HttpServer::parse_log(log);
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[1].url, "/b");
  EXPECT_EQ(requests[1].status, 404);
  EXPECT_EQ(requests[1].range, std::nullopt);
}

}  // namespace
}  // namespace recordpipe
