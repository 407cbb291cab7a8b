// Tests the file system of objects as programs use it: threads, pipelines, calls that objects do
// not support. The server is that of the tests of http: it checks no signatures.
// cli/tfrecord_object_store_test.py has a server that does.
#include "recordpipe/object_store/file_system.h"

#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataset/object_store/listing.h"
#include "recordpipe/io/atomic_file.h"
#include "recordpipe/pipeline/chrome_trace.h"
#include "recordpipe/pipeline/tfrecord_files.h"
#include "recordpipe/record/record_writer.h"
#include "tests/io/http_reading_fixture.h"
#include "tests/support/framed_records.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

using testing::HasSubstr;
using testing::Not;

class ObjectFiles : public HttpReadingTest {
 protected:
  ObjectFiles() { server.put("bucket/a", content); }

  ObjectStoreOptions settings() {
    return {.http = options, .environment = [this](const std::string& name) -> std::string {
              ++variables_read;
              if (name == "AWS_ENDPOINT_URL") return server.http("");
              return name == "AWS_NO_SIGN_REQUEST" ? "true" : "";
            }};
  }

  int variables_read = 0;
};

TEST_F(ObjectFiles, AreReadByManyThreads) {
  ObjectStoreFileSystem files(posix_file_system(), settings());
  EXPECT_EQ(files.status("s3://bucket/a").value().size, content.size());
  EXPECT_EQ(files.status("s3://bucket/none"), std::nullopt);
  EXPECT_EQ(as_text(read_all(*files.open_source("s3://bucket/a"), 1 << 20)), content);
  options.smallest_window = options.largest_window = 100;
  ObjectStoreFileSystem small(posix_file_system(), settings());
  const auto file = small.open_random("s3://bucket/a");
  EXPECT_EQ(file->path(), "s3://bucket/a");
  std::vector<std::jthread> threads;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (size_t at = t * 50; at + 40 < content.size(); at += 211) {
        std::vector<std::byte> bytes(40);
        EXPECT_EQ(file->read_at(at, bytes), 40u);
        EXPECT_EQ(as_text(bytes), content.substr(at, 40));
      }
    });
  }
}

// Also behind a file system that forwards to it.
TEST_F(ObjectFiles, AreRequestedWhenTheirOpeningBegins) {
  ObjectStoreFileSystem files(posix_file_system(), settings());
  RoutedFileSystem forwarding(files);
  const auto source = forwarding.start_source("s3://bucket/a");
  const auto random = forwarding.start_random("s3://bucket/a");
  const auto none = forwarding.start_random("s3://bucket/none");
  while (server.requests().size() < 3) std::this_thread::yield();
  EXPECT_EQ(as_text(read_all(*source(), 1 << 20)), content);
  EXPECT_EQ(random()->size(), content.size());
  EXPECT_EQ(error_of(none).kind(), ErrorKind::not_found);
  EXPECT_EQ(error_of(forwarding.start_source("s3://bucket/")).kind(), ErrorKind::invalid_argument);
  EXPECT_EQ(server.requests().size(), 3u);
}

TEST_F(ObjectFiles, SettingsAreReadWhenAnObjectIsUsed) {
  const TemporaryDirectory folder;
  ObjectStoreFileSystem files(posix_file_system(), settings());
  write_file(folder / "local", "abc");
  EXPECT_EQ(files.status(folder / "local").value().size, 3u);
  EXPECT_EQ(files.list(folder.path()).size(), 1u);
  EXPECT_EQ(files.list_entries(folder.path()).at(0).name, "local");
  EXPECT_EQ(files.list_entries_with_prefix(folder.path(), "lo").size(), 1u);
  EXPECT_TRUE(files.list_entries_with_prefix(folder.path(), "x").empty());
  EXPECT_TRUE(files.is_directory(folder.path()));
  EXPECT_TRUE(files.is_directory("s3://bucket"));
  EXPECT_FALSE(files.is_directory("s3://bucket/a"));
  EXPECT_EQ(files.status("s3://bucket/").value().kind, FileKind::directory);
  EXPECT_EQ(variables_read, 0);
  files.status("s3://bucket/a");
  EXPECT_GT(variables_read, 0);
}

TEST_F(ObjectFiles, WhatTheyDoNotSupport) {
  ObjectStoreFileSystem files(posix_file_system(), settings());
  const std::string path = "s3://bucket/a";
  const auto expect_refused = [&](const auto& action) {
    const Error error = error_of([&] { action(); });
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_EQ(error.path(), path);
    EXPECT_FALSE(error.hint().empty());
  };
  expect_refused([&] { files.map(path); });
  expect_refused([&] { files.create(path, CreateMode::append); });
  expect_refused([&] { files.rename(path, "b"); });
  expect_refused([&] { files.rename("b", path); });
  expect_refused([&] { files.lock(path); });
  // Folders are parts of names.
  files.make_directories(path);
  files.remove_empty_directory(path);
  files.sync_directory(path);
  EXPECT_TRUE(server.requests().empty());
}

TEST_F(ObjectFiles, AreFilesOfPipelines) {
  const TemporaryDirectory folder;
  for (int i = 0; i < 2; ++i) {
    RecordWriter writer(posix_file_system(), folder / "r");
    for (int n = 0; n < 100; ++n) writer.write(as_bytes(std::to_string(100 * i + n)));
    writer.close();
    server.put("bucket/r" + std::to_string(i),
               as_text(read_all(*posix_file_system().open_source(folder / "r"), 1 << 20)));
  }
  ObjectStoreFileSystem files(posix_file_system(), settings());
  const auto texts =
      tfrecord_files(files, std::vector<std::string>{"s3://bucket/r0", "s3://bucket/r1"})
          .map([](const Record& record) { return as_text(record.data); });
  std::vector<std::string> expected;
  for (int n = 0; n < 200; ++n) expected.push_back(std::to_string(n));
  const auto collect = [](const Dataset<std::string>& dataset) {
    std::vector<std::string> all;
    auto iterator = dataset.iterate();
    while (const std::string* text = iterator.next()) all.push_back(*text);
    return all;
  };
  EXPECT_EQ(collect(texts), expected);
  EXPECT_THAT(collect(texts.global_shuffle(7)), testing::UnorderedElementsAreArray(expected));
  // A pass that goes on from a state.
  auto iterator = texts.iterate();
  for (int n = 0; n < 150; ++n) iterator.next();
  const auto state = iterator.state();
  auto resumed = texts.iterate();
  resumed.restore(state);
  EXPECT_EQ(*resumed.next(), "150");
}

// They are opened and read ahead, and the memory for that is limited.
TEST_F(ObjectFiles, ManyAreFilesOfPipelines) {
  const TemporaryDirectory folder;
  std::vector<std::string> paths;
  std::vector<std::string> expected;
  for (int i = 0; i < 80; ++i) {
    RecordWriter writer(posix_file_system(), folder / "r");
    for (int n = 0; n < 20; ++n) {
      expected.push_back(std::to_string(i) + " " + std::to_string(n));
      writer.write(as_bytes(expected.back()));
    }
    writer.close();
    const std::string name = "r" + std::to_string(i);
    server.put("bucket/" + name,
               as_text(read_all(*posix_file_system().open_source(folder / "r"), 1 << 20)));
    paths.push_back("s3://bucket/" + name);
  }
  {
    const size_t before = server.requests().size();
    ObjectStoreFileSystem whole(posix_file_system(), settings());
    auto iterator = tfrecord_files(whole, paths).iterate();
    while (iterator.next()) {
    }
    EXPECT_EQ(server.requests().size() - before, paths.size());
  }
  options.range_size = 100;  // several for each file
  ObjectStoreFileSystem files(posix_file_system(), settings());
  for (const uint64_t limit : {UINT64_MAX, uint64_t{4} << 20}) {
    const auto texts = tfrecord_files(files, paths)
                           .map([](const Record& record) { return as_text(record.data); })
                           .with_options({.memory_limit = limit});
    std::vector<std::string> all;
    auto iterator = texts.iterate();
    while (const std::string* text = iterator.next()) {
      all.push_back(*text);
      if (all.size() == 500) {
        const auto state = iterator.state();
        iterator = texts.iterate();
        iterator.restore(state);
      }
    }
    EXPECT_EQ(all, expected);
  }
}

// The requests for the next 64 objects are sent while the first one is waited for.
TEST_F(ObjectFiles, ManyAreOpenedAtATimeOnFewThreads) {
  std::stop_source stop;
  options.http.stop = stop.get_token();
  std::vector<std::string> paths;
  for (int i = 0; i < 70; ++i) {
    server.put("bucket/r" + std::to_string(i), content);
    paths.push_back("s3://bucket/r" + std::to_string(i));
  }
  server.misbehave("stall=0");
  ObjectStoreFileSystem files(posix_file_system(), settings());
  auto iterator = tfrecord_files(files, paths).with_options({.threads = 2}).iterate();
  const std::jthread reader(
      [&] { EXPECT_EQ(error_of([&] { iterator.next(); }).kind(), ErrorKind::cancelled); });
  while (server.requests().size() < 65) std::this_thread::yield();
  const std::filesystem::directory_iterator threads("/proc/self/task");
  EXPECT_LT(std::distance(begin(threads), end(threads)), 32);
  stop.request_stop();
}

TEST_F(ObjectFiles, AnErrorOfOneThatIsOpenedAheadComesInItsTurn) {
  server.put("bucket/r", framed({"a"}));
  const auto files = std::make_shared<ObjectStoreFileSystem>(posix_file_system(), settings());
  for (const std::string path : {"s3://bucket/folder/", "s3://bucket/none", "s3://BUCKET/r"}) {
    auto iterator = listed_tfrecord_files(files, {"s3://bucket/r", path}).iterate();
    EXPECT_EQ(as_text(iterator.next()->data), "a");
    EXPECT_EQ(error_of([&] { iterator.next(); }).path(), path);
  }
}

// A new object appears at the end, with one request.
TEST_F(ObjectFiles, ADroppedWriterWritesNothing) {
  ObjectStoreFileSystem files(posix_file_system(), settings());
  { AtomicFile(files, "s3://bucket/new").write(as_bytes("abc")); }
  EXPECT_EQ(server.requests().size(), 1u);  // whether it is new
  AtomicFile refused(files, "s3://bucket/new");
  refused.write(as_bytes("abc"));
  // This server knows GET only.
  EXPECT_EQ(error_of([&] { refused.commit(); }).path(), "s3://bucket/new");
  EXPECT_EQ(error_of([&] { refused.write(as_bytes("d")); }).kind(), ErrorKind::invalid_argument);
  AtomicFile renamed(files, "s3://bucket/new");
  EXPECT_EQ(error_of([&] { renamed.commit_as("s3://bucket/other"); }).kind(),
            ErrorKind::unsupported);
}

// Also not in traces, states, caches and statistics.
TEST_F(ObjectFiles, NoOutputHasACredential) {
  const TemporaryDirectory folder;
  RecordWriter writer(posix_file_system(), folder / "r");
  for (int n = 0; n < 10; ++n) writer.write(as_bytes(std::to_string(n)));
  writer.close();
  server.put("bucket/r",
             as_text(read_all(*posix_file_system().open_source(folder / "r"), 1 << 20)));
  ObjectStoreOptions signing = settings();
  std::string notices;
  signing.http.notice = [&](std::string_view notice) { notices += notice; };
  signing.environment = [this](const std::string& name) -> std::string {
    if (name == "AWS_ENDPOINT_URL") return server.http("");
    if (name == "AWS_ACCESS_KEY_ID") return "AKIDSECRET";
    if (name == "AWS_SECRET_ACCESS_KEY" || name == "AWS_SESSION_TOKEN") return "SECRET";
    return "";
  };
  ObjectStoreFileSystem files(posix_file_system(), signing);
  server.misbehave("status=503&times=1");
  const auto trace = std::make_shared<ChromeTrace>();
  const auto dataset = tfrecord_files(files, std::vector<std::string>{"s3://bucket/r"})
                           .map([](const Record& record) { return as_text(record.data); })
                           .cache(folder / "cache", {}, files)
                           .with_options({.trace = trace});
  auto iterator = dataset.iterate();
  int count = 0;
  std::string outputs;
  while (iterator.next() != nullptr) {
    if (++count == 5) outputs += iterator.state();
  }
  EXPECT_EQ(count, 10);
  outputs += iterator.state() + iterator.statistics().text() + trace->json() + notices;
  outputs += as_text(read_all(*posix_file_system().open_source(folder / "cache"), 1 << 20));
  EXPECT_THAT(outputs, HasSubstr("s3://bucket/r"));
  EXPECT_THAT(outputs, Not(HasSubstr("SECRET")));
  EXPECT_EQ(server.requests().back().authorization.value_or("").substr(0, 16), "AWS4-HMAC-SHA256");
}

}  // namespace
}  // namespace recordpipe
