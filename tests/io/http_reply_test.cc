// Tests the thread that moves the bytes of all transfers: one for the process, bounded memory, and
// requests that wait for others only as the limit says.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "recordpipe/http/client.h"
#include "tests/io/http_reading_fixture.h"

namespace recordpipe {
namespace {

class HttpReplyTest : public HttpReadingTest {
 protected:
  HttpRequest get(const std::string& what) const { return {.url = HttpUrl(server.http(what))}; }

  static std::string body(HttpReply& reply) {
    std::string all;
    while (true) {
      const auto piece = reply.next();
      if (piece.empty()) return all;
      all += as_text(piece);
    }
  }

  static int64_t threads_of_http() {
    return std::ranges::count_if(std::filesystem::directory_iterator("/proc/self/task"),
                                 [](const auto& task) {
                                   std::string name;
                                   std::getline(std::ifstream(task.path() / "comm"), name);
                                   return name == "rp-http";
                                 });
  }
};

TEST_F(HttpReplyTest, ManyTransfersTakeOneThread) {
  EXPECT_EQ(threads_of_http(), 0);
  {
    HttpClient client({});
    HttpClient other({});
    std::vector<std::unique_ptr<HttpReply>> sent;
    for (int i = 0; i < 20; ++i) {
      sent.push_back((i % 2 == 0 ? client : other).send(get("/a?stall=10"), 1000));
    }
    for (const auto& reply : sent) EXPECT_EQ(reply->head().status, 200);
    EXPECT_EQ(threads_of_http(), 1);
    EXPECT_EQ(server.requests().size(), 20u);
  }  // ends the transfers
  EXPECT_EQ(threads_of_http(), 0);
}

TEST_F(HttpReplyTest, ABodyIsReceivedAheadUpToALimit) {
  content = noise(size_t{3} << 20);
  server.put("a", content);
  constexpr size_t kAhead = 64 << 10;
  constexpr size_t kNetworkRead = 64 << 10;
  HttpClient client({});
  const auto reply = client.send(get("/a"), kAhead);
  EXPECT_EQ(reply->head().content_length, content.size());
  // Meanwhile, all of the first one could have arrived.
  const auto other = client.send(get("/a"));
  EXPECT_EQ(other->head().status, 200);
  EXPECT_EQ(body(*other), content);
  const std::string piece = as_text(reply->next());
  EXPECT_LE(piece.size(), kAhead + kNetworkRead);
  EXPECT_EQ(piece + body(*reply), content);
}

TEST_F(HttpReplyTest, AResponseThatNobodyTakesDoesNotHoldUpOthers) {
  content = noise(size_t{1} << 20);
  server.put("a", content);
  HttpClient client({}, 1);
  const auto first = client.send(get("/a"), 1000);
  const auto second = client.send(get("/a"), content.size());
  EXPECT_EQ(second->head().status, 200);
  EXPECT_EQ(body(*second), content);
  EXPECT_EQ(first->head().status, 200);
  EXPECT_EQ(body(*first), content);
}

TEST_F(HttpReplyTest, ARedirectIsFollowedWhenTheHeadIsWaitedFor) {
  HttpClient client({});
  const auto reply = client.send(get("/a?redirect={http}/a%3Fx"), content.size());
  EXPECT_EQ(reply->head().url.text(), server.http("/a?x"));
  EXPECT_EQ(body(*reply), content);
}

TEST_F(HttpReplyTest, ATransferThatBreaksOffGivesWhatHasArrived) {
  HttpClient client({});
  const auto reply = client.send(get("/a?cut=1000"), content.size());
  EXPECT_EQ(reply->head().status, 200);
  std::string all;
  EXPECT_THROW(while (true) all += as_text(reply->next()), TransientError);
  EXPECT_EQ(all, content.substr(0, 1000));
}

TEST_F(HttpReplyTest, TheFirstBytesArriveWhereTheyAreWanted) {
  HttpClient client({});
  std::vector<std::byte> sink(1000);
  const auto reply = client.send(get("/a"), 0, sink);
  EXPECT_EQ(reply->head().status, 200);
  EXPECT_EQ(body(*reply), content);
  EXPECT_EQ(as_text(sink), content.substr(0, 1000));
}

}  // namespace
}  // namespace recordpipe
