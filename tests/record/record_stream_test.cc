// Tests what only applies to streams: compression, endless or malicious sources, and memory.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "recordpipe/record/record_format.h"
#include "recordpipe/record/record_reader.h"
#include "recordpipe/record/record_writer.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"
#include "tests/support/faulty_file_system.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kThreeRecords = {"first", "", std::string(30, 'z')};

std::string file_of(const std::vector<std::string>& records, Compression compression) {
  MemorySink sink;
  RecordWriter writer(sink, {.compression = compression});
  for (const std::string& record : records) writer.write(as_bytes(record));
  writer.close();
  return sink.content;
}

RecordReader stream_reader_of(std::string content, RecordReadOptions options = {}) {
  return RecordReader(std::make_unique<MemorySource>(std::move(content), "a.gz"), options);
}

// Returns the records before the end or the error, and the error, if any.
std::pair<std::vector<std::string>, std::optional<Error>> read_to_the_end(RecordReader reader) {
  std::vector<std::string> records;
  try {
    while (const auto record = reader.read()) records.push_back(as_text(record->data));
  } catch (const Error& error) {
    return {records, error};
  }
  return {records, std::nullopt};
}

bool is_start_of(const std::vector<std::string>& part, const std::vector<std::string>& whole) {
  return part.size() <= whole.size() && std::equal(part.begin(), part.end(), whole.begin());
}

class CompressedStream : public testing::TestWithParam<Compression> {};

INSTANTIATE_TEST_SUITE_P(Formats, CompressedStream,
                         testing::Values(Compression::gzip, Compression::zlib, Compression::zstd),
                         [](const auto& instance) {
                           return std::string(to_string(instance.param));
                         });

// This includes truncation at a record boundary, which TensorFlow treats as the end.
TEST_P(CompressedStream, ACutAtEveryLengthIsTruncated) {
  const std::string content = file_of(kThreeRecords, GetParam());
  for (size_t size = 0; size < content.size(); ++size) {
    SCOPED_TRACE(size);
    const auto [records, error] =
        read_to_the_end(stream_reader_of(content.substr(0, size), {.compression = GetParam()}));
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), ErrorKind::truncated);
    EXPECT_EQ(error->path(), "a.gz");
    EXPECT_TRUE(is_start_of(records, kThreeRecords));
  }
  const auto [records, error] = read_to_the_end(
      stream_reader_of(content.substr(0, content.size() - 1), {.compression = GetParam()}));
  EXPECT_EQ(records, kThreeRecords);
  EXPECT_THAT(error->reason(), HasSubstr("ends before its trailer"));
}

TEST_P(CompressedStream, AFlippedBitNeverGivesOtherRecords) {
  const std::string content = file_of(kThreeRecords, GetParam());
  for (size_t bit = 0; bit < 8 * content.size(); ++bit) {
    SCOPED_TRACE(bit);
    std::string damaged = content;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    const auto [records, error] =
        read_to_the_end(stream_reader_of(damaged, {.compression = GetParam()}));
    EXPECT_TRUE(is_start_of(records, kThreeRecords));
    if (!error) {
      EXPECT_EQ(records, kThreeRecords);
    }
  }
}

TEST_P(CompressedStream, CantBeMapped) {
  TemporaryDirectory directory;
  write_file(directory / "a", file_of(kThreeRecords, GetParam()));
  const Error error = error_of([&] { MappedRecordFile(posix_file_system(), directory / "a"); });
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_THAT(error.reason(), HasSubstr(std::string(to_string(GetParam()))));
}

TEST_P(CompressedStream, IsFoundOutWithChecksOffToo) {
  for (const size_t size : {0u, 1u, 300u, 100000u}) {
    for (int level = GetParam() == Compression::zstd ? 1 : 0; level <= 9; ++level) {
      const std::vector<std::string> wanted(3, std::string(size, '\0'));
      MemorySink sink;
      RecordWriter writer(sink, {.compression = GetParam(), .compression_level = level});
      for (const std::string& record : wanted) writer.write(as_bytes(record));
      writer.close();
      const auto [records, error] =
          read_to_the_end(stream_reader_of(sink.content, {.crc = CrcCheck::never}));
      EXPECT_FALSE(error) << error->what();
      EXPECT_EQ(records, wanted);
    }
  }
}

TEST_P(CompressedStream, PlainReadAsCompressedIsRefused) {
  const auto [records, error] = read_to_the_end(
      stream_reader_of(file_of(kThreeRecords, Compression::none), {.compression = GetParam()}));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::invalid_argument);
  EXPECT_TRUE(records.empty());
}

TEST_P(CompressedStream, DamageInsideIsAtTheInflatedOffset) {
  MemorySink sink;
  RecordWriter writer(sink, {.compression = GetParam()});
  std::string wrong;
  append_framed(as_bytes("first"), wrong);
  append_framed(as_bytes("second"), wrong);
  wrong.back() ^= 1;
  writer.write_framed(as_bytes(wrong), 2);
  writer.close();
  const auto [records, error] = read_to_the_end(stream_reader_of(sink.content));
  EXPECT_EQ(records, std::vector<std::string>{"first"});
  ASSERT_TRUE(error);
  EXPECT_EQ(error->offset(), 21u);
}

TEST(RecordStream, ConcatenatedMembersAreOneFile) {
  for (const Compression compression : {Compression::gzip, Compression::zstd}) {
    const std::string content =
        file_of({"a", "b"}, compression) + file_of({}, compression) + file_of({"c"}, compression);
    const auto [records, error] = read_to_the_end(stream_reader_of(content));
    EXPECT_FALSE(error);
    EXPECT_THAT(records, testing::ElementsAre("a", "b", "c"));
  }
}

// Notes the largest read request: the memory used must depend on the data received, not on the
// length in a header.
class MeasuredSource final : public ByteSource {
 public:
  MeasuredSource(std::string content, size_t& largest)
      : content_(std::move(content)), largest_(largest) {}
  size_t read(std::span<std::byte> out) override {
    largest_ = std::max(largest_, out.size());
    return content_.read(out);
  }
  const std::string& path() const override { return content_.path(); }

 private:
  MemorySource content_;
  size_t& largest_;
};

TEST(RecordStream, ALengthThatLiesCostsNoMemory) {
  const std::string content =
      as_text(encode_record_header(uint64_t{1} << 30)) + std::string(5000000, 'x');
  size_t largest = 0;
  RecordReader reader(std::make_unique<MeasuredSource>(content, largest));
  EXPECT_EQ(error_of([&] { reader.read(); }).kind(), ErrorKind::truncated);
  EXPECT_LE(largest, 2u << 20);
}

TEST(RecordStream, ARecordAboveTheCapIsRefusedAtItsHeader) {
  RecordReader reader = stream_reader_of(file_of({"four", "fives", "last"}, Compression::none),
                                         {.max_record_size = 4});
  EXPECT_EQ(as_text(reader.read()->data), "four");
  const Error error = error_of([&] { reader.read(); });
  EXPECT_EQ(error.kind(), ErrorKind::limit_exceeded);
  EXPECT_EQ(error.offset(), 20u);
  EXPECT_THAT(error.reason(), HasSubstr("5 bytes"));
  EXPECT_TRUE(reader.reads_on());
  EXPECT_EQ(as_text(reader.read()->data), "last");
}

TEST_P(CompressedStream, ARecordWithAWrongDataCrcCostsNoOther) {
  const std::string large(3 << 20, 'x');  // more than the buffer
  std::string content = file_of({"a", large, "c", "d"}, Compression::none);
  content[12] ^= 1;
  content[17 + 12] ^= 1;
  MemorySink sink;
  const auto compressed = deflate(sink, {GetParam(), 1});
  compressed->write(as_bytes(content));
  compressed->close();
  RecordReader reader = stream_reader_of(sink.content);
  for (const uint64_t offset : {0, 17}) {
    EXPECT_EQ(error_of([&] { reader.read(); }).offset(), offset);
    EXPECT_TRUE(reader.reads_on());
  }
  EXPECT_EQ(as_text(reader.read()->data), "c");
  EXPECT_EQ(as_text(reader.read()->data), "d");
  EXPECT_FALSE(reader.read());
}

// Compresses `start` and 64 MiB of zeros into a few kilobytes.
std::string bomb_of(Compression compression, std::span<const std::byte> start) {
  MemorySink sink;
  const auto bomb = deflate(sink, {compression, 1});
  bomb->write(start);
  const std::vector<std::byte> zeros(1 << 20);
  for (int i = 0; i < 64; ++i) bomb->write(zeros);
  bomb->close();
  return sink.content;
}

// The stream is rejected at the first header, without inflating the rest.
TEST_P(CompressedStream, ABombIsRefusedAtOnce) {
  RecordReader reader = stream_reader_of(bomb_of(GetParam(), {}));
  const Error error = error_of([&] { reader.read(); });
  EXPECT_EQ(error.kind(), ErrorKind::corrupted);
  EXPECT_EQ(error.offset(), 0u);
}

TEST_P(CompressedStream, ABombInARecordIsBoundedByTheCap) {
  RecordReader reader =
      stream_reader_of(bomb_of(GetParam(), encode_record_header(uint64_t{1} << 40)));
  EXPECT_EQ(error_of([&] { reader.read(); }).kind(), ErrorKind::limit_exceeded);
}

TEST(RecordStream, AnEndlessDeviceIsRefusedAtOnce) {
  RecordReader reader(posix_file_system(), "/dev/zero");
  const Error error = error_of([&] { reader.read(); });
  EXPECT_EQ(error.kind(), ErrorKind::corrupted);
  EXPECT_THAT(error.hint(), HasSubstr("zeros"));
}

TEST(RecordStream, AFifoIsRead) {
  TemporaryDirectory directory;
  const std::string fifo = directory / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const std::string content = file_of(kThreeRecords, Compression::gzip);
  std::thread writer([&] {
    const auto out = posix_file_system().create(fifo, CreateMode::append);
    for (const char byte : content) out->write(std::as_bytes(std::span(&byte, 1)));
  });
  const auto [records, error] = read_to_the_end(RecordReader(posix_file_system(), fifo));
  writer.join();
  EXPECT_FALSE(error);
  EXPECT_EQ(records, kThreeRecords);
}

// Like a log that is written as events happen: each record can be read before the next is written.
TEST(RecordStream, ALiveFifoGivesEachRecordAsItComes) {
  for (const Compression compression : {Compression::none, Compression::gzip, Compression::zstd}) {
    TemporaryDirectory directory;
    const std::string fifo = directory / "fifo";
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    std::counting_semaphore<> received(0);
    bool all_in_time = true;
    std::thread writer([&] {
      const auto out = posix_file_system().create(fifo, CreateMode::append);
      for (const std::string& record : kThreeRecords) {
        out->write(as_bytes(file_of({record}, compression)));  // a separate member
        // Far more time than the reader needs. If it fails, the pipe ends, so that the test doesn't
        // hang.
        all_in_time = all_in_time && received.try_acquire_for(std::chrono::seconds(20));
      }
    });
    RecordReader reader(posix_file_system(), fifo);
    std::vector<std::string> records;
    while (const auto record = reader.read()) {
      records.push_back(as_text(record->data));
      received.release();
    }
    writer.join();
    EXPECT_TRUE(all_in_time) << to_string(compression);
    EXPECT_EQ(records, kThreeRecords);
  }
}

TEST(RecordStream, ATrickleGivesTheSameRecords) {
  const std::vector<std::string> wanted = {"first", "", std::string(300000, 'z'), "last"};
  for (const Compression compression :
       {Compression::none, Compression::gzip, Compression::zlib, Compression::zstd}) {
    const auto [records, error] = read_to_the_end(
        RecordReader(std::make_unique<TrickleSource>(file_of(wanted, compression), "slow")));
    EXPECT_FALSE(error);
    EXPECT_EQ(records, wanted);
  }
}

// The source returns `good` one byte at a time, then fails.
TEST(RecordStream, WhatASourceGivesBeforeItFailsIsRead) {
  class Failing final : public ByteSource {
   public:
    explicit Failing(std::string good) : good_(std::move(good)) {}
    size_t read(std::span<std::byte> out) override {
      const size_t count = good_.read(out);
      if (count == 0) throw system_error(EIO, "read", path());
      return count;
    }
    const std::string& path() const override { return good_.path(); }

   private:
    TrickleSource good_;
  };
  // The second record is no longer than the bytes that are read to detect the compression.
  for (const std::string& first : {std::string(), std::string(100, 'x')}) {
    const std::string content = file_of({first, "second"}, Compression::none);
    const auto [records, error] = read_to_the_end(
        RecordReader(std::make_unique<Failing>(content.substr(0, content.size() - 5))));
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), ErrorKind::io);
    EXPECT_THAT(records, testing::ElementsAre(first));
  }
}

TEST(RecordStream, RecordsLieInTheReadersBuffer) {
  RecordReader reader = stream_reader_of(file_of({"first", "second"}, Compression::none));
  const std::byte* first = reader.read()->data.data();
  EXPECT_EQ(reader.read()->data.data(), first + 5 + kRecordOverhead);
}

TEST(RecordStream, EveryCallFailing) {
  TemporaryDirectory directory;
  const std::string path = directory / "a";
  for (const Compression compression : {Compression::none, Compression::gzip, Compression::zstd}) {
    write_file(path, file_of(std::vector<std::string>(50, std::string(20000, 'x')), compression));
    size_t count = 0;
    for_every_fault(
        posix_file_system(), EIO,
        [&](FileSystem& files) {
          count = 0;
          RecordReader reader(files, path);
          while (reader.read()) ++count;
        },
        [&](const FaultyFileSystem& files) {
          EXPECT_TRUE(count == 50 || !files.failed_call().empty());
        });
  }
}

// The start of a file can be read, the rest can't.
TEST(RecordStream, RecordsBeforeAReadErrorAreGiven) {
  TemporaryDirectory directory;
  const std::string path = directory / "a";
  write_file(path,
             file_of(std::vector<std::string>(50, std::string(20000, 'x')), Compression::none));
  FaultyFileSystem files(posix_file_system());
  files.fail_call(4, FaultyFileSystem::Fault::error, EIO);  // after open, detect, read 256 KiB
  const auto [records, error] = read_to_the_end(RecordReader(files, path));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::io);
  EXPECT_EQ(records.size(), 13u);
}

}  // namespace
}  // namespace recordpipe
