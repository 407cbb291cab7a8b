// Tests random access to URLs: the server's bytes, read by few requests of suitable sizes.
#include <chrono>
#include <stop_token>
#include <thread>

#include "recordpipe/http/file_system.h"
#include "tests/io/http_reading_fixture.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class HttpRandomAccessFileTest : public HttpReadingTest {
 protected:
  HttpRandomAccessFileTest() {
    options.smallest_window = 100;
    options.largest_window = 800;
  }

  std::unique_ptr<RandomAccessFile> open(const std::string& what = "/a") {
    return files().open_random(server.http(what));
  }
  static std::string read(const RandomAccessFile& file, uint64_t offset, size_t size) {
    std::vector<std::byte> bytes(size);
    bytes.resize(file.read_at(offset, bytes));
    return as_text(bytes);
  }
  // Returns when the server has received `count` requests.
  void wait_for_requests(size_t count) const {
    while (server.requests().size() < count) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  Error error_from(const std::string& what) {
    return error_of([&] { read(*open(what), 500, 10); });
  }
};

TEST_F(HttpRandomAccessFileTest, GivesWhatIsThere) {
  const auto file = open();
  EXPECT_EQ(file->size(), 3000u);
  for (const size_t offset : {0, 99, 100, 2999, 5, 1500, 2500}) {
    for (const size_t size : {0, 1, 99, 101, 799, 800, 801, 5000}) {
      EXPECT_EQ(read(*file, offset, size), content.substr(offset, size)) << offset << " " << size;
    }
  }
  EXPECT_EQ(read(*file, 3000, 10), "");
  EXPECT_EQ(read(*file, UINT64_MAX, 10), "");
}

TEST_F(HttpRandomAccessFileTest, OneRequestOpensAShortFile) {
  server.put("short", content.substr(0, 90));
  const auto file = open("/short");
  EXPECT_EQ(file->size(), 90u);
  EXPECT_EQ(read(*file, 0, 1000), content.substr(0, 90));
  EXPECT_THAT(ranges(), ElementsAre("bytes=0-99"));
}

TEST_F(HttpRandomAccessFileTest, AnEmptyFileIsAFile) {
  server.put("empty", "");
  for (const std::string what : {"/empty", "/empty?no_range"}) {
    const auto file = open(what);
    EXPECT_EQ(file->size(), 0u);
    EXPECT_EQ(read(*file, 0, 1), "");
  }
}

// Reads headers of 12 bytes, every 20 bytes, like an iteration over short records.
TEST_F(HttpRandomAccessFileTest, ASlowWalkAsksForMoreAndMore) {
  const auto file = open();
  for (size_t at = 0; at < 3000; at += 20) {
    EXPECT_EQ(read(*file, at, 12), content.substr(at, 12));
  }
  EXPECT_THAT(ranges(), ElementsAre("bytes=0-99", "bytes=100-299", "bytes=300-699",
                                    "bytes=700-1499", "bytes=1500-2299", "bytes=2300-2999"));
}

TEST_F(HttpRandomAccessFileTest, AWalkInLargeStepsLeavesOutWhatIsBetween) {
  const auto file = open();
  for (size_t at = 0; at < 3000; at += 1000) {
    EXPECT_EQ(read(*file, at, 12), content.substr(at, 12));
  }
  EXPECT_THAT(ranges(), ElementsAre("bytes=0-99", "bytes=1000-1099", "bytes=2000-2099"));
}

TEST_F(HttpRandomAccessFileTest, ALongReadIsOneRequest) {
  const auto file = open();
  EXPECT_EQ(read(*file, 1000, 2000), content.substr(1000));
  EXPECT_EQ(read(*file, 0, 100), content.substr(0, 100));  // the window is still cached
  EXPECT_THAT(ranges(), ElementsAre("bytes=0-99", "bytes=1000-2999"));
}

TEST_F(HttpRandomAccessFileTest, CutAtAnyByteItGoesOn) {
  content = noise(40);
  server.put("a", content);
  options.smallest_window = 10;
  options.largest_window = 20;
  for (size_t k = 1; k < 30; ++k) {
    const auto file = open("/a?times=2&cut=" + std::to_string(k));
    EXPECT_EQ(read(*file, 10, 30), content.substr(10)) << k;
  }
  EXPECT_EQ(error_from("/a?cut=0").kind(), ErrorKind::network);
}

TEST_F(HttpRandomAccessFileTest, HintedRangesAreRequestedBeforeTheyAreRead) {
  const auto file = open();
  for (const uint64_t offset : {1000, 2000}) file->hint(offset, 300, ReadHint::will_need);
  file->hint(2000, 300, ReadHint::will_need);
  file->hint(3000, 1, ReadHint::will_need);
  file->hint(10, 20, ReadHint::will_need);  // in the window
  wait_for_requests(3);
  EXPECT_EQ(read(*file, 2000, 300), content.substr(2000, 300));
  // The range becomes the window.
  EXPECT_EQ(read(*file, 1100, 10), content.substr(1100, 10));
  EXPECT_EQ(read(*file, 1000, 300), content.substr(1000, 300));
  std::vector<std::byte> bytes(50);
  file->hint(2900, 50, ReadHint::will_need);
  std::vector<ReadRequest> reads = {{.offset = 2900, .size = 50, .scratch = bytes}};
  file->read_many(reads);
  EXPECT_EQ(as_text(reads[0].data), content.substr(2900, 50));
  EXPECT_THAT(ranges(), UnorderedElementsAre("bytes=0-99", "bytes=1000-1299", "bytes=2000-2299",
                                             "bytes=2900-2949"));
  file->hint(0, 3000, ReadHint::done);  // frees the window
  EXPECT_EQ(read(*file, 1000, 10), content.substr(1000, 10));
  EXPECT_THAT(ranges(), SizeIs(5));
}

TEST_F(HttpRandomAccessFileTest, AFailureOfAHintedRangeShowsWhenItIsRead) {
  const auto file = open();
  server.put("a", noise(3000, 2));
  file->hint(1000, 300, ReadHint::will_need);
  EXPECT_THAT(error_of([&] { read(*file, 1000, 300); }).reason(), HasSubstr("changed"));
}

TEST_F(HttpRandomAccessFileTest, WithoutRangesItSaysSo) {
  const Error error = error_from("/a?no_range");
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_THAT(error.what(), HasSubstr("range requests: it answered 200 (download the file"));
  EXPECT_THAT(error_from("/a?range=bytes+1-99/3000").what(), HasSubstr("another range"));
  EXPECT_THAT(error_from("/a?range=bytes+0-199/3000").what(), HasSubstr("another range"));
  EXPECT_THAT(error_from("/a?range=bytes+0-99/*").what(), HasSubstr("another range"));
  EXPECT_THAT(error_from("/a?range=bytes").what(), HasSubstr("another range"));
}

TEST_F(HttpRandomAccessFileTest, AnotherFileMidwayIsAnError) {
  server.put("a.new", noise(3000, 2));
  EXPECT_THAT(error_from("/a?times=1&changed").what(), HasSubstr("the file changed on the server"));
  EXPECT_THAT(error_from("/a?times=1&changed&stubborn").what(), HasSubstr("the file changed"));
  server.put("a.new", noise(2000, 2));  // detected by its size alone
  EXPECT_THAT(error_from("/a?times=1&changed&stubborn&etag=none&modified=none").what(),
              HasSubstr("the file changed"));
  server.put("a.new", noise(200, 2));  // ends before the requested range: 416
  EXPECT_THAT(error_from("/a?times=1&changed&stubborn&etag=none").what(),
              HasSubstr("the file changed"));
}

TEST_F(HttpRandomAccessFileTest, AfterAFailureItReadsOn) {
  options.retry.retries = 0;
  const auto file = open();
  server.misbehave("status=503");
  EXPECT_EQ(error_of([&] { read(*file, 1000, 10); }).kind(), ErrorKind::network);
  server.misbehave("");
  EXPECT_EQ(read(*file, 1000, 10), content.substr(1000, 10));
  EXPECT_EQ(read(*file, 0, 10), content.substr(0, 10));
}

TEST_F(HttpRandomAccessFileTest, StatusesAreWhatTheyAreForStreams) {
  EXPECT_EQ(error_from("/none").kind(), ErrorKind::not_found);
  EXPECT_EQ(error_from("/a?status=403").kind(), ErrorKind::permission_denied);
  EXPECT_THAT(server.requests(), SizeIs(2));
  EXPECT_EQ(read(*open("/a?times=2&status=503"), 0, 10), content.substr(0, 10));
  EXPECT_THAT(error_from("/a?type=text/html").what(), HasSubstr("sent a web page in place"));
  EXPECT_THAT(error_from("/a?extra=5&close").what(), HasSubstr("more than it announced"));
}

TEST_F(HttpRandomAccessFileTest, ManyThreadsMayRead) {
  const auto file = open();
  std::vector<std::jthread> threads;
  for (size_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (size_t i = 0; i < 30; ++i) {
        const size_t at = (thread * 997 + i * 101) % 3000;
        EXPECT_EQ(read(*file, at, 50), content.substr(at, 50));
      }
    });
  }
}

TEST_F(HttpRandomAccessFileTest, AReadDoesNotWaitForThatOfAnotherThread) {
  options.http.stall_timeout = std::chrono::seconds(10);
  for (const size_t size : {10, 500}) {  // in a window, or without one
    std::stop_source stop;
    options.http.stop = stop.get_token();
    const auto file = open();
    const size_t before = server.requests().size();
    server.misbehave("stall=0&times=1");
    std::jthread stalled([&] {
      const Error error = error_of([&] { read(*file, 1000, size); });
      EXPECT_EQ(error.kind(), ErrorKind::cancelled);
    });
    wait_for_requests(before + 1);
    EXPECT_EQ(read(*file, 2000, 10), content.substr(2000, 10));
    EXPECT_EQ(read(*file, 0, 500), content.substr(0, 500));
    std::vector<std::byte> memory(20);
    std::vector<ReadRequest> requests{{.offset = 2500, .size = 20, .scratch = memory}};
    file->read_many(requests);
    EXPECT_EQ(as_text(requests[0].data), content.substr(2500, 20));
    stop.request_stop();
  }
}

TEST_F(HttpRandomAccessFileTest, AWindowIsRequestedOnceForSeveralThreads) {
  const auto file = open();
  server.misbehave("drip=50");
  {
    const std::jthread first([&] { EXPECT_EQ(read(*file, 1000, 10), content.substr(1000, 10)); });
    wait_for_requests(2);
    EXPECT_EQ(read(*file, 1090, 10), content.substr(1090, 10));
  }
  EXPECT_THAT(ranges(), ElementsAre("bytes=0-99", "bytes=1000-1099"));
}

}  // namespace
}  // namespace recordpipe
