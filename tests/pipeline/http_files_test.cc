// Tests datasets that read the records of files at URLs.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/pipeline/chrome_trace.h"
#include "recordpipe/pipeline/from_vector.h"
#include "recordpipe/pipeline/tfrecord_files.h"
#include "recordpipe/record/record_writer.h"
#include "tests/io/http_reading_fixture.h"
#include "tests/pipeline/collect.h"
#include "tests/pipeline/resume.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class HttpFiles : public HttpReadingTest {
 protected:
  HttpFiles() : urls_({server.http("/plain"), server.http("/zipped.gz"), server.http("/empty")}) {
    put("plain", 0, 300, Compression::none);
    put("zipped.gz", 300, 400, Compression::gzip);
    put("empty", 0, 0, Compression::none);
  }

  void put(const std::string& name, int first, int end, Compression compression) {
    const std::string path = directory_ / name;
    RecordWriter writer(posix_file_system(), path, {.compression = compression});
    for (int i = first; i < end; ++i) writer.write(as_bytes("record " + std::to_string(i)));
    writer.close();
    const auto bytes = read_all(*posix_file_system().open_source(path), 1 << 20);
    server.put(name, as_text(bytes));
  }

  static Dataset<std::string> texts(const Dataset<Record>& records) {
    return records.map([](const Record& record) { return as_text(record.data); });
  }
  static std::vector<std::string> expected(int count) {
    std::vector<std::string> out;
    for (int i = 0; i < count; ++i) out.push_back("record " + std::to_string(i));
    return out;
  }

  // Serves a file of `count` records of `size` bytes and returns its URL. Each request takes a
  // tenth of a second.
  std::string put_slow(int count, size_t size) {
    const std::string path = directory_ / "slow";
    RecordWriter writer(posix_file_system(), path);
    for (int i = 0; i < count; ++i) writer.write(as_bytes(std::string(size, 'x')));
    writer.close();
    server.put("slow", as_text(read_all(*posix_file_system().open_source(path), 1 << 20)));
    return server.http("/slow?drip=1000000");
  }
  // Yields one record of a local file, then the records at the URL in random order, each read by a
  // separate request.
  Dataset<Record> one_then(HttpFileSystem& files, const std::string& url) {
    return tfrecord_files({directory_ / "plain"})
        .take(1)
        .concatenate(tfrecord_files(files, {url}).global_shuffle(1));
  }
  size_t requests() const { return server.requests().size(); }
  // Waits until `count` requests have been made. Returns the number of requests so far.
  size_t wait_for_requests(size_t count) const {
    while (requests() < count) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return requests();
  }

  TemporaryDirectory directory_;
  const std::vector<std::string> urls_;
  HttpFileSystem files_ = files();
};

TEST_F(HttpFiles, PlainAndCompressedOnesAreRead) {
  for (const size_t threads : {1, 4}) {
    const auto records = tfrecord_files(files_, urls_).with_options({.threads = threads});
    EXPECT_EQ(collect(texts(records)), expected(400));
  }
  // The server sends only whole files, without their sizes.
  server.misbehave("no_range&close");
  EXPECT_EQ(collect(texts(tfrecord_files(files_, urls_))), expected(400));
}

TEST_F(HttpFiles, APassIsResumed) {
  const auto shuffled = texts(tfrecord_files(files_, urls_)).shuffle(50, 1);
  expect_resumes_anywhere(shuffled, {shuffled.with_options({.threads = 1})}, 150);
  auto saving = texts(tfrecord_files(files_, urls_)).iterate();
  saving.next();
  const std::string state = saving.state();
  put("plain", 1, 301, Compression::none);
  auto restored = texts(tfrecord_files(files_, urls_)).iterate();
  EXPECT_EQ(error_of([&] { restored.restore(state); }).path(), urls_[0]);
}

// Every run has new signatures in its presigned URLs.
TEST_F(HttpFiles, APassIsResumedByURLsThatWereSignedAgain) {
  const auto signed_by = [&](const std::string& signature) {
    std::vector<std::string> urls = urls_;
    for (std::string& url : urls) url += "?X-Amz-Signature=" + signature;
    return urls;
  };
  const auto plain = [&](const std::string& signature) {
    return texts(tfrecord_files(files_, signed_by(signature)));
  };
  const auto inputs = [&](const std::string& signature) {
    return from_vector(signed_by(signature))
        .interleave([this](const std::string& url) { return texts(tfrecord_files(files_, {url})); },
                    2);
  };
  int caches = 0;
  for (const auto& [first, second] :
       {std::pair(plain("1/a"), plain("2/b=")), std::pair(inputs("1/a"), inputs("2/b="))}) {
    auto saving = first.iterate();
    for (int i = 0; i < 250; ++i) saving.next();
    auto restored = second.iterate();
    restored.restore(saving.state());
    EXPECT_EQ(rest_of(restored), rest_of(saving));
    const std::string path = directory_ / ("cache-" + std::to_string(caches++));
    EXPECT_EQ(collect(first.cache(path, {}, files_)), collect(second.cache(path, {}, files_)));
  }
  // If only the query differs, a change of the file is detected by its content.
  auto saving = plain("1").iterate();
  saving.next();
  put("plain", 1, 301, Compression::none);
  EXPECT_EQ(error_of([&] { plain("2").iterate().restore(saving.state()); }).path(),
            urls_[0] + "?...");
}

TEST_F(HttpFiles, NoSecretOfAURLIsWritten) {
  std::vector<std::string> urls = urls_;
  for (std::string& url : urls) {
    url.insert(std::string_view("http://").size(), "user:SECRET@");
    url += "?X-Amz-Signature=SECRET";
  }
  const auto trace = std::make_shared<ChromeTrace>();
  const auto from_sources = texts(tfrecord_files(files_, urls));
  const auto from_inputs = from_vector(urls).flat_map(
      [this](const std::string& url) { return texts(tfrecord_files(files_, {url})); });
  int caches = 0;
  for (const auto& dataset : {from_sources, from_inputs}) {
    const std::string path = directory_ / ("cache-" + std::to_string(caches++));
    const auto cached = dataset.cache(path, {}, files_).with_options({.trace = trace});
    for (int pass = 0; pass < 2; ++pass) {
      auto iterator = cached.iterate();
      EXPECT_EQ(rest_of(iterator), expected(400));
      EXPECT_THAT(iterator.state(), Not(HasSubstr("SECRET")));
    }
    const auto written = read_all(*posix_file_system().open_source(path), 1 << 20);
    EXPECT_THAT(as_text(written), Not(HasSubstr("SECRET")));
    auto iterator = dataset.iterate();
    iterator.next();
    EXPECT_THAT(iterator.state(), Not(HasSubstr("SECRET")));
    EXPECT_THAT(iterator.statistics().text(), Not(HasSubstr("SECRET")));
  }
  EXPECT_THAT(trace->json(), Not(HasSubstr("SECRET")));
}

// Paths of records may appear in messages, so they contain no secrets, however the file is read.
TEST_F(HttpFiles, PathsOfRecordsHoldNoSecret) {
  const auto records = tfrecord_files(files_, {urls_[0] + "?X-Amz-Signature=SECRET"});
  for (const auto& dataset : {records, records.global_shuffle(1)}) {
    auto iterator = dataset.iterate();
    EXPECT_EQ(iterator.next()->path, urls_[0] + "?...");
  }
}

// The records stay valid while others are read, and their order is the same for any number of
// threads.
TEST_F(HttpFiles, PlainOnesHaveRandomAccess) {
  const std::vector<std::string> urls = {urls_[0], urls_[2], urls_[0]};
  const std::vector<std::string> paths = {directory_ / "plain", directory_ / "empty",
                                          directory_ / "plain"};
  const auto expected = collect(texts(tfrecord_files(paths).global_shuffle(1)));
  ASSERT_EQ(expected.size(), 600u);
  for (const size_t threads : {1, 4}) {
    // These records outlive the Dataset and its iterator.
    const std::vector<Record> records =
        collect(tfrecord_files(files_, urls).global_shuffle(1).with_options({.threads = threads}));
    std::vector<std::string> found;
    for (const Record& record : records) {
      EXPECT_EQ(record.path, urls[0]);
      EXPECT_NE(record.owner, nullptr);
      found.push_back(as_text(record.data));
    }
    EXPECT_EQ(found, expected);
  }
  const auto shuffled = texts(tfrecord_files(files_, urls)).global_shuffle(1);
  expect_resumes_anywhere(shuffled, {shuffled.with_options({.threads = 1})}, 150);
}

// The file is replaced after two requests: one for its size, and one for its content.
TEST_F(HttpFiles, TheStateIsThatOfTheFileThatWasOpened) {
  put("plain.new", 1, 301, Compression::none);
  const auto shuffled = [&](const std::string& query) {
    return texts(tfrecord_files(files_, {urls_[0] + query})).global_shuffle(1);
  };
  auto saving = shuffled("?changed&times=2").iterate();
  saving.next();
  EXPECT_EQ(requests(), 2u);
  auto restored = shuffled("").iterate();
  restored.restore(saving.state());
  EXPECT_EQ(rest_of(restored), rest_of(saving));
}

TEST_F(HttpFiles, DestroyingAnIteratorDoesNotWaitForAWalkOverTheHeaders) {
  constexpr size_t kHeaders = 80;
  const std::string url = put_slow(kHeaders, 9000);  // the walk skips the data of long records
  options.smallest_window = options.largest_window = 12;
  HttpFileSystem slow = files();
  auto iterator =
      std::make_optional(one_then(slow, url).prefetch(100).with_options({.threads = 1}).iterate());
  iterator->next();
  const size_t before = wait_for_requests(5);
  iterator.reset();
  EXPECT_LT(requests(), before + kHeaders / 2);
}

TEST_F(HttpFiles, DestroyingAnIteratorDoesNotWaitForAChunk) {
  constexpr size_t kChunk = 240;  // more than the records that are requested ahead
  const std::string url = put_slow(3 * kChunk, 1000);
  options.smallest_window = options.largest_window = 12;
  HttpFileSystem slow = files();
  const auto records = one_then(slow, url);
  for (const auto& dataset :
       {records.prefetch(100).with_options({.threads = 1, .chunk_size = kChunk}),
        records.with_options({.threads = 3, .chunk_size = kChunk})}) {
    const size_t opened = requests() + 30;  // in the middle of a chunk
    auto iterator = std::make_optional(dataset.iterate());
    iterator->next();
    const size_t before = wait_for_requests(opened);
    iterator.reset();
    EXPECT_LT(requests(), before + kChunk / 2);
  }
}

// 10,000 bytes of the stream arrive per second, and the chunk has 240,000 bytes.
TEST_F(HttpFiles, DestroyingAnIteratorDoesNotWaitForAChunkOfAStream) {
  (void)put_slow(60, 4000);
  const auto stream = tfrecord_files(files_, {server.http("/slow?drip=1000&no_range")});
  for (const auto& records : {stream, stream.skip(50)}) {
    const size_t opened = requests() + 4;  // requests for sizes, the content and the fingerprint
    auto iterator = std::make_optional(tfrecord_files({directory_ / "plain"})
                                           .take(1)
                                           .concatenate(records)
                                           .prefetch(100)
                                           .with_options({.threads = 1})
                                           .iterate());
    iterator->next();
    (void)wait_for_requests(opened);
    const auto before = std::chrono::steady_clock::now();
    iterator.reset();
    EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(8));
  }
}

TEST_F(HttpFiles, HaveNoRandomAccessIfCompressed) {
  auto iterator = tfrecord_files(files_, {urls_[1]}).global_shuffle(1).iterate();
  const Error error = error_of([&] { iterator.next(); });
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_EQ(error.path(), urls_[1]);
  EXPECT_THAT(error.reason(), AllOf(HasSubstr("gzip"), HasSubstr("in any order")));
}

TEST_F(HttpFiles, HaveNoRandomAccessWithoutRanges) {
  server.misbehave("no_range");
  auto iterator = tfrecord_files(files_, {urls_[0]}).global_shuffle(1).iterate();
  const Error error = error_of([&] { iterator.next(); });
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_EQ(error.path(), urls_[0]);
  EXPECT_THAT(error.reason(), HasSubstr("in any order"));
  EXPECT_THAT(error.hint(), HasSubstr("download"));
}

}  // namespace
}  // namespace recordpipe
