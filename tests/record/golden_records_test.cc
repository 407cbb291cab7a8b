// Tests the vectors in FORMAT.md byte for byte, and files with the same records by another writer.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/checksum/crc32c.h"
#include "recordpipe/record/record_format.h"
#include "recordpipe/record/record_reader.h"
#include "recordpipe/record/record_writer.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"

namespace recordpipe {
namespace {

struct GoldenRecord {
  std::string data;
  const char* framed;
};

const std::vector<GoldenRecord>& golden_records() {
  static const std::vector<GoldenRecord> records = {
      {"", "000000000000000029039807d8ea82a2"},
      {"foo", "0300000000000000b099490e666f6f618abefe"},
      {"abc", "0300000000000000b099490e6162636e57f121"},
      {"defg", "0400000000000000424552046465666727071ba1"},
      {"123456789", "090000000000000037f97139313233343536373839e5b08ac7"},
      {from_hex("0a120a100a036b657912090a070a0576616c7565"),
       "14000000000000005e3d29150a120a100a036b657912090a070a0576616c756566b691d1"},
  };
  return records;
}

TEST(GoldenRecords, AreWritten) {
  for (const auto& [data, framed] : golden_records()) {
    std::string out;
    append_framed(as_bytes(data), out);
    EXPECT_EQ(to_hex(out), framed);
  }
}

TEST(GoldenRecords, AreRead) {
  std::string file;
  for (const auto& record : golden_records()) file += from_hex(record.framed);
  RecordReader reader(std::make_unique<MemorySource>(file));
  for (const auto& record : golden_records()) {
    const auto read = reader.read();
    ASSERT_TRUE(read);
    EXPECT_EQ(as_text(read->data), record.data);
  }
  EXPECT_FALSE(reader.read());
}

std::vector<std::string> golden_data() {
  std::vector<std::string> data;
  for (const auto& record : golden_records()) data.push_back(record.data);
  return data;
}

// Reads a file in the folder data.
std::vector<std::string> read_golden_file(const std::string& name, RecordReadOptions options = {}) {
  RecordReader reader(posix_file_system(), RECORDPIPE_DATA_DIR "/" + name, options);
  std::vector<std::string> records;
  while (const auto record = reader.read()) records.push_back(as_text(record->data));
  return records;
}

TEST(GoldenFiles, PlainAndCompressedAreTheSameRecords) {
  for (const char* name : {"golden/vectors.tfrecords", "golden/vectors.tfrecords.gz",
                           "golden/vectors.tfrecords.zz", "golden/vectors-two-members.tfrecords.gz",
                           "zstd/vectors.tfrecords.zst", "zstd/vectors-frames.tfrecords.zst"}) {
    EXPECT_EQ(read_golden_file(name), golden_data()) << name;
  }
}

TEST(GoldenFiles, ZeroCrcsAreReadWithChecksOff) {
  EXPECT_EQ(read_golden_file("golden/zero-crcs.tfrecords", {.crc = CrcCheck::never}),
            golden_data());
  EXPECT_EQ(error_of([] { read_golden_file("golden/zero-crcs.tfrecords"); }).kind(),
            ErrorKind::corrupted);
}

TEST(GoldenFiles, AreMapped) {
  const MappedRecordFile file(posix_file_system(), RECORDPIPE_DATA_DIR "/golden/vectors.tfrecords");
  ASSERT_EQ(file.size(), golden_records().size());
  for (size_t i = 0; i < file.size(); ++i) {
    EXPECT_EQ(as_text(file.read(i).data), golden_records()[i].data);
  }
}

// TensorBoard's first event, with wall time 1599759586.
TEST(GoldenRecords, TensorBoardsFirstEvent) {
  const std::string event = from_hex("090000803899d6d7411a0d") + "brain.Event:2";
  ASSERT_EQ(event.size(), 24u);
  std::string framed;
  append_framed(as_bytes(event), framed);
  EXPECT_EQ(to_hex(framed.substr(0, 12)), "1800000000000000a37f4b22");
  EXPECT_EQ(to_hex(framed.substr(36)), "124b36ab");
}

TEST(GoldenRecords, HeadersDecode) {
  const std::string header = from_hex("0300000000000000b099490e");
  EXPECT_EQ(decode_record_header(as_bytes(header).first<12>()), 3u);
  const std::string wrong = from_hex("0300000000000000b099490f");
  EXPECT_EQ(decode_record_header(as_bytes(wrong).first<12>()), std::nullopt);
  EXPECT_EQ(decode_record_length(as_bytes(wrong).first<12>()), 3u);
}

// These files must be rejected before memory is allocated: if their first bytes were taken as a
// length, exabytes or half a megabyte of data would be missing.
TEST(GoldenRecords, APointerOfGitLfsReadsAsAHugeLength) {
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n";
  EXPECT_EQ(decode_record_length(as_bytes(pointer).first<12>()), 2336927755350992246u);
  RecordReader reader(std::make_unique<MemorySource>(pointer));
  const Error error = error_of([&] { reader.read(); });
  EXPECT_EQ(error.kind(), ErrorKind::corrupted);
  EXPECT_EQ(error.offset(), 0u);
  EXPECT_NE(error.hint().find("git lfs pull"), std::string::npos);
}

TEST(GoldenRecords, ABareGzipHeaderReadsAsALength) {
  const std::string header = from_hex("1f8b080000000000");
  EXPECT_EQ(decode_record_length(as_bytes(header + "0000").first<12>()), 0x88B1Fu);
  RecordReader reader(std::make_unique<MemorySource>(header));
  EXPECT_EQ(reader.compression(), Compression::gzip);
  EXPECT_EQ(error_of([&] { reader.read(); }).kind(), ErrorKind::truncated);
}

}  // namespace
}  // namespace recordpipe
