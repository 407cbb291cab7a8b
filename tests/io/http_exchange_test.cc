// Tests the thread that moves the bytes of all transfers: one for the process, bounded memory, and
// requests that wait for others only as the limit says.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "dataset/http/exchange.h"
#include "tests/io/http_reading_fixture.h"

namespace recordpipe {
namespace {

class HttpExchangeTest : public HttpReadingTest {
 protected:
  HttpRequest get(const std::string& what) const { return {.url = HttpUrl(server.http(what))}; }

  static std::string body(HttpExchange& exchange) {
    std::string all;
    while (true) {
      const auto piece = exchange.next();
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

TEST_F(HttpExchangeTest, ManyTransfersTakeOneThread) {
  EXPECT_EQ(threads_of_http(), 0);
  {
    HttpClient client({});
    HttpClient other({});
    std::vector<std::unique_ptr<HttpExchange>> sent;
    for (int i = 0; i < 20; ++i) {
      sent.push_back(
          std::make_unique<HttpExchange>(i % 2 == 0 ? client : other, get("/a?stall=10"), 1000));
    }
    for (const auto& exchange : sent) EXPECT_EQ(exchange->head().status, 200);
    EXPECT_EQ(threads_of_http(), 1);
    EXPECT_EQ(server.requests().size(), 20u);
  }  // ends the transfers
  EXPECT_EQ(threads_of_http(), 0);
}

TEST_F(HttpExchangeTest, ABodyIsReceivedAheadUpToALimit) {
  content = noise(size_t{3} << 20);
  server.put("a", content);
  constexpr size_t kAhead = 64 << 10;
  constexpr size_t kNetworkRead = 64 << 10;
  HttpClient client({});
  HttpExchange exchange(client, get("/a"), kAhead);
  EXPECT_EQ(exchange.head().content_length, content.size());
  // Meanwhile, all of the first one could have arrived.
  HttpExchange other(client, get("/a"));
  EXPECT_EQ(body(other), content);
  const std::string piece = as_text(exchange.next());
  EXPECT_LE(piece.size(), kAhead + kNetworkRead);
  EXPECT_EQ(piece + body(exchange), content);
}

TEST_F(HttpExchangeTest, AResponseThatNobodyTakesDoesNotHoldUpOthers) {
  content = noise(size_t{1} << 20);
  server.put("a", content);
  HttpClient client({}, 1);
  HttpExchange first(client, get("/a"), 1000);
  HttpExchange second(client, get("/a"), content.size());
  EXPECT_EQ(second.head().status, 200);
  EXPECT_EQ(body(second), content);
  EXPECT_EQ(first.head().status, 200);
  EXPECT_EQ(body(first), content);
}

TEST_F(HttpExchangeTest, ARedirectIsFollowedWhenTheHeadIsWaitedFor) {
  HttpClient client({});
  HttpExchange exchange(client, get("/a?redirect={http}/a%3Fx"), content.size());
  EXPECT_EQ(exchange.head().url.text(), server.http("/a?x"));
  EXPECT_EQ(body(exchange), content);
}

TEST_F(HttpExchangeTest, ATransferThatBreaksOffGivesWhatHasArrived) {
  HttpClient client({});
  HttpExchange exchange(client, get("/a?cut=1000"), content.size());
  EXPECT_EQ(exchange.head().status, 200);
  std::string all;
  EXPECT_THROW(while (true) all += as_text(exchange.next()), TransientError);
  EXPECT_EQ(all, content.substr(0, 1000));
}

TEST_F(HttpExchangeTest, TheFirstBytesArriveWhereTheyAreWanted) {
  HttpClient client({});
  std::vector<std::byte> sink(1000);
  HttpExchange exchange(client, get("/a"), 0, sink);
  EXPECT_EQ(exchange.head().status, 200);
  EXPECT_EQ(body(exchange), content);
  EXPECT_EQ(as_text(sink), content.substr(0, 1000));
}

}  // namespace
}  // namespace recordpipe
