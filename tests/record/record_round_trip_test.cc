// Tests that RecordReader and MappedRecordFile read the records that RecordWriter wrote.
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/record/record_format.h"
#include "recordpipe/record/record_reader.h"
#include "recordpipe/record/record_writer.h"
#include "tests/support/bytes.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

std::vector<std::string> sample_records() {
  std::vector<std::string> records = {"", "foo", std::string("\0\0", 2)};
  // Sizes near the reader's buffer size (256 KiB), and beyond the step by which it grows (1 MiB).
  for (const size_t size : {3073u, 262127u, 262128u, 262129u, 3000000u, 1u}) {
    std::string record(size, 'x');
    for (size_t i = 0; i < size; ++i) record[i] = static_cast<char>(i * i >> 3);
    records.push_back(record);
  }
  return records;
}

std::vector<std::string> read_records(RecordReader reader) {
  std::vector<std::string> records;
  uint64_t offset = 0;
  while (const auto record = reader.read()) {
    EXPECT_EQ(record->offset, offset);
    offset += record->data.size() + kRecordOverhead;
    EXPECT_EQ(reader.offset(), offset);
    records.push_back(as_text(record->data));
  }
  EXPECT_FALSE(reader.read());
  return records;
}

class RecordRoundTrip : public testing::TestWithParam<Compression> {
 protected:
  TemporaryDirectory directory;
  const std::string path = directory / "a.tfrecords";
  FileSystem& files = posix_file_system();

  void write_sample() {
    RecordWriter writer(files, path, {.compression = GetParam()});
    for (const std::string& record : sample_records()) writer.write(as_bytes(record));
    writer.close();
    EXPECT_EQ(writer.records(), sample_records().size());
  }
};

TEST_P(RecordRoundTrip, FoundOutFromTheFile) {
  write_sample();
  EXPECT_EQ(detect_compression(files, path), GetParam());
  EXPECT_EQ(detect_compression(*files.map(path)), GetParam());
  EXPECT_EQ(detect_compression(*files.open_random(path)), GetParam());
  EXPECT_EQ(map_plain_file(files, path) != nullptr, GetParam() == Compression::none);
  RecordReader reader(files, path);
  EXPECT_EQ(reader.compression(), GetParam());
  EXPECT_EQ(read_records(std::move(reader)), sample_records());
}

TEST_P(RecordRoundTrip, AsTold) {
  write_sample();
  EXPECT_EQ(read_records(RecordReader(files, path, {.compression = GetParam()})), sample_records());
}

TEST_P(RecordRoundTrip, ThroughSinkAndSource) {
  MemorySink sink;
  RecordWriter writer(sink, {.compression = GetParam(), .compression_level = 1});
  for (const std::string& record : sample_records()) writer.write(as_bytes(record));
  writer.close();
  EXPECT_EQ(read_records(RecordReader(std::make_unique<MemorySource>(sink.content))),
            sample_records());
}

TEST_P(RecordRoundTrip, TheSameBytesEveryTime) {
  write_sample();
  const std::string first = read_file(path);
  write_sample();
  EXPECT_EQ(read_file(path), first);
}

INSTANTIATE_TEST_SUITE_P(Compressions, RecordRoundTrip,
                         testing::Values(Compression::none, Compression::gzip, Compression::zlib,
                                         Compression::zstd),
                         [](const auto& instance) {
                           return std::string(to_string(instance.param));
                         });

TEST(MappedRecordFile, ReadsAnyRecord) {
  TemporaryDirectory directory;
  const std::string path = directory / "a.tfrecords";
  RecordWriter writer(posix_file_system(), path);
  for (const std::string& record : sample_records()) writer.write(as_bytes(record));
  writer.close();
  EXPECT_EQ(read_file(path).size(), writer.bytes());

  const MappedRecordFile file(posix_file_system(), path);
  const auto expected = sample_records();
  ASSERT_EQ(file.size(), expected.size());
  for (size_t i = expected.size(); i-- > 0;) {
    EXPECT_EQ(as_text(file.read(i).data), expected[i]);
    EXPECT_EQ(file.view(i).data.data(), file.read(i).data.data());
  }
  EXPECT_FALSE(file.damaged());
}

TEST(RecordWriter, FramedBytesAreThoseOfWrite) {
  std::string framed;
  MemorySink one_by_one;
  RecordWriter writer(one_by_one);
  for (const std::string& record : sample_records()) {
    append_framed(as_bytes(record), framed);
    writer.write(as_bytes(record));
  }
  writer.close();
  EXPECT_EQ(one_by_one.content, framed);

  MemorySink at_once;
  RecordWriter framed_writer(at_once);
  framed_writer.write_framed(as_bytes(framed), sample_records().size());
  framed_writer.close();
  EXPECT_EQ(at_once.content, framed);
  EXPECT_EQ(framed_writer.records(), writer.records());
  EXPECT_EQ(framed_writer.bytes(), writer.bytes());
}

TEST(RecordWriter, ASinkGetsEveryRecordAtOnce) {
  MemorySink sink;
  RecordWriter writer(sink);
  writer.write(as_bytes("foo"));
  EXPECT_EQ(to_hex(sink.content), "0300000000000000b099490e666f6f618abefe");
}

TEST(RecordWriter, ABufferAndPiecesChangeNoBytes) {
  const std::string large(100, 'x');
  MemorySink expected;
  RecordWriter plain(expected);
  for (const std::string& record : {std::string("foobar"), std::string(), large + "y"}) {
    plain.write(as_bytes(record));
  }
  plain.close();
  for (const size_t buffer_size : {0u, 1u, 20u, 1000u}) {
    MemorySink sink;
    RecordWriter writer(sink, {.buffer_size = buffer_size});
    writer.write_pieces(std::vector{as_bytes("foo"), as_bytes(""), as_bytes("bar")});
    writer.write_pieces({});
    writer.write_pieces(std::vector{as_bytes(large), as_bytes("y")});
    EXPECT_EQ(writer.bytes(), expected.content.size());
    EXPECT_EQ(sink.content.empty(), buffer_size == 1000);
    writer.finish();
    EXPECT_EQ(sink.content, expected.content) << buffer_size;
  }
}

TEST(RecordWriter, LeftUnclosedWritesNoFile) {
  TemporaryDirectory directory;
  { RecordWriter(posix_file_system(), directory / "a").write(as_bytes("foo")); }
  EXPECT_THAT(posix_file_system().list(directory.path()), testing::IsEmpty());
}

TEST(RecordWriter, RefusesAnUnknownLevel) {
  TemporaryDirectory directory;
  EXPECT_THROW(RecordWriter(posix_file_system(), directory / "a",
                            {.compression = Compression::gzip, .compression_level = 10}),
               Error);
  EXPECT_THAT(posix_file_system().list(directory.path()), testing::IsEmpty());
}

TEST(RecordWriter, WritesNothingAfterClose) {
  MemorySink sink;
  RecordWriter writer(sink);
  writer.close();
  EXPECT_THROW(writer.write(as_bytes("foo")), Error);
  EXPECT_THROW(writer.close(), Error);
  EXPECT_EQ(sink.content, "");
}

}  // namespace
}  // namespace recordpipe
