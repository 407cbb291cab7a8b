// Tests sequential reads in ranges: the server's bytes or an error, whatever happens during the
// transfers.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "dataset/http/files/range_request.h"
#include "dataset/io/range_source.h"
#include "tests/io/http_reading_fixture.h"

namespace recordpipe {
namespace {

using testing::HasSubstr;

class RangeSourceTest : public HttpReadingTest {
 protected:
  RangeSourceTest() {
    options.range_size = 100;
    options.ranges_ahead = 4;
  }

  std::unique_ptr<RangeSource> open(const std::string& what) {
    const auto ranges = std::make_shared<HttpRanges>(
        HttpTarget{.url = HttpUrl(server.http(what))}, options,
        std::make_shared<HttpClient>(options.http), first_range(options));
    auto first = ranges->open();
    return std::make_unique<RangeSource>(ranges, range_options(options), budget, std::move(first));
  }
  std::string read(const std::string& what) { return as_text(read_all(*open(what), 1 << 20)); }
  Error error_from(const std::string& what) {
    return error_of([&] { read(what); });
  }

  std::shared_ptr<ByteBudget> budget = std::make_shared<ByteBudget>(1000);
};

TEST_F(RangeSourceTest, GivesWhatTheServerHas) {
  EXPECT_EQ(read("/a"), content);
  EXPECT_EQ(server.requests().size(), 30u);  // 100 bytes each
  for (const size_t size : {0, 1, 99, 100, 101, 200}) {
    server.put("b", content.substr(0, size));
    EXPECT_EQ(read("/b"), content.substr(0, size));
  }
}

TEST_F(RangeSourceTest, ASmallFileTakesOneRequest) {
  options.range_size = 1 << 20;
  EXPECT_EQ(read("/a"), content);
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(RangeSourceTest, NothingIsRequestedAheadOfTheFirstRead) {
  const auto source = open("/a");
  EXPECT_EQ(server.requests().size(), 1u);
  source->prefetch();
  EXPECT_EQ(as_text(read_all(*source, 1 << 20)), content);
}

TEST_F(RangeSourceTest, ReadsOnAtTheEnd) {
  const auto source = open("/a");
  EXPECT_EQ(as_text(read_all(*source, 1 << 20)), content);
  std::byte one;
  EXPECT_EQ(source->read({&one, 1}), 0u);
}

TEST_F(RangeSourceTest, CutTransfersGoOn) {
  for (int k = 7; k < 100; k += 31) {
    EXPECT_EQ(read("/a?times=3&cut=" + std::to_string(k)), content) << k;
  }
}

TEST_F(RangeSourceTest, BusyServersAreAskedAgain) {
  EXPECT_EQ(read("/a?times=2&status=503"), content);
}

TEST_F(RangeSourceTest, BytesBeforeAFailureAreRead) {
  const auto source = open("/a");
  source->prefetch();
  server.misbehave("");
  std::string text;
  server.put("a", noise(3000, 2));  // another version
  const Error error = error_of([&] {
    std::vector<std::byte> bytes(64);
    while (const size_t count = source->read(bytes)) {
      text += as_text(std::span(bytes).first(count));
    }
  });
  EXPECT_EQ(error.kind(), ErrorKind::network);
  EXPECT_THAT(error.reason(), HasSubstr("changed"));
  EXPECT_GE(text.size(), 100u);
  EXPECT_EQ(text, content.substr(0, text.size()));
  EXPECT_EQ(error_of([&] {
              std::byte one;
              source->read({&one, 1});
            }).kind(),
            ErrorKind::network);
}

TEST_F(RangeSourceTest, WrongRangesAreErrors) {
  EXPECT_EQ(error_from("/a?range=bytes%205-9/3000").kind(), ErrorKind::network);
  EXPECT_EQ(error_from("/a?no_range").kind(), ErrorKind::unsupported);
  EXPECT_EQ(error_from("/none").kind(), ErrorKind::not_found);
}

// Each stream may have one range beyond the budget, so none waits for another.
TEST_F(RangeSourceTest, ABudgetThatIsUsedUpDoesNotStopStreams) {
  budget = std::make_shared<ByteBudget>(150);
  const auto first = open("/a");
  const auto second = open("/a");
  first->prefetch();
  second->prefetch();
  EXPECT_EQ(as_text(read_all(*second, 1 << 20)), content);
  EXPECT_EQ(as_text(read_all(*first, 1 << 20)), content);
}

// Ranges of files that are needed later must not be in the way of the one that is read.
TEST_F(RangeSourceTest, PrefetchingLeavesTheBudgetOfOneStream) {
  budget = std::make_shared<ByteBudget>(700);
  const auto source = open("/a");
  source->prefetch();
  EXPECT_FALSE(budget->take(401));
  EXPECT_TRUE(budget->take(400));
}

TEST_F(RangeSourceTest, RandomAccessRequestsNothingThatWasRead) {
  options.smallest_window = 40;
  const auto part = open("/a")->random_access();
  EXPECT_EQ(part->size(), content.size());
  std::vector<std::byte> bytes(40);
  part->read_at(0, bytes);
  EXPECT_EQ(as_text(bytes), content.substr(0, 40));
  EXPECT_EQ(server.requests().size(), 1u);
  part->read_at(2000, bytes);
  EXPECT_EQ(as_text(bytes), content.substr(2000, 40));
  EXPECT_EQ(server.requests().size(), 2u);
  options.range_size = content.size();
  const auto whole = open("/a")->random_access();
  bytes.resize(content.size());
  whole->read_at(0, bytes);
  EXPECT_EQ(as_text(bytes), content);
  EXPECT_EQ(server.requests().size(), 3u);
}

TEST_F(RangeSourceTest, RandomAccessIsToTheSameVersion) {
  const auto file = open("/a")->random_access();
  server.put("a", noise(3000, 2));
  std::vector<std::byte> bytes(100);
  EXPECT_THAT(error_of([&] { file->read_at(1000, bytes); }).reason(), HasSubstr("changed"));
}

TEST_F(RangeSourceTest, TheBudgetIsGivenBack) {
  budget = std::make_shared<ByteBudget>(400);
  {
    const auto source = open("/a");
    source->prefetch();
    std::vector<std::byte> bytes(250);
    read_fully(*source, bytes);
    EXPECT_FALSE(budget->take(400));
  }
  EXPECT_EQ(read("/a"), content);
  EXPECT_TRUE(budget->take(400));
  EXPECT_FALSE(budget->take(1));
}

TEST_F(RangeSourceTest, ALimitMakesRangesSmaller) {
  options.range_size = size_t{1} << 20;
  content = noise(900'000);
  server.put("a", content);
  const auto source = open("/a");
  source->limit_read_ahead(100'000);
  EXPECT_EQ(as_text(read_all(*source, 1 << 20)), content);
  const auto all = ranges();
  EXPECT_EQ(std::ranges::count(all, "bytes=524288-624287"), 1);
}

TEST_F(RangeSourceTest, ADroppedSourceEndsItsTransfers) {
  options.range_size = 1000;
  const auto source = open("/a");
  server.misbehave("stall=10");
  source->prefetch();
}  // the destructor does not wait for the timeout of 30 s: the test has no other time limit

}  // namespace
}  // namespace recordpipe
