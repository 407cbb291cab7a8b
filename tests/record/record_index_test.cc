// Tests index files: their bytes, rejected files, random access through an index, and whether an
// index matches its file.
#include "recordpipe/record/record_index.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataset/record/record_header_reader.h"
#include "recordpipe/record/record_format.h"
#include "recordpipe/record/record_writer.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The index of the vectors in FORMAT.md, which have 0, 3, 3, 4, 9 and 20 bytes. Computed by hand.
constexpr char kVectorsIndex[] =
    "0 16\n"
    "16 19\n"
    "35 19\n"
    "54 20\n"
    "74 25\n"
    "99 36\n";
const std::string kVectors = std::string(RECORDPIPE_DATA_DIR) + "/golden/vectors.tfrecords";

RecordIndexReader reader_of(std::string text) {
  return RecordIndexReader(std::make_unique<MemorySource>(std::move(text), "a.idx"));
}

std::vector<RecordIndexEntry> read_all_entries(RecordIndexReader reader) {
  std::vector<RecordIndexEntry> entries;
  while (const auto entry = reader.read()) entries.push_back(*entry);
  EXPECT_FALSE(reader.read());
  return entries;
}

Error read_error(const std::string& text) {
  return error_of([&] { read_all_entries(reader_of(text)); });
}

TEST(RecordIndex, TheVectorsHaveTheIndexWorkedOutByHand) {
  RecordReader records(posix_file_system(), kVectors);
  MemorySink sink;
  RecordIndexWriter writer(sink);
  while (const auto record = records.read()) writer.write(record->data.size() + kRecordOverhead);
  writer.close();
  EXPECT_EQ(sink.content, kVectorsIndex);
  EXPECT_EQ(writer.records(), 6u);
}

TEST(RecordIndex, IsReadBack) {
  RecordIndexReader index = reader_of(kVectorsIndex);
  EXPECT_EQ(index.end(), 0u);
  EXPECT_EQ(index.read(), (RecordIndexEntry{0, 16}));
  EXPECT_EQ(index.read(), (RecordIndexEntry{16, 19}));
  EXPECT_EQ(index.read()->length(), 3u);
  EXPECT_EQ(index.records(), 3u);
  EXPECT_EQ(index.end(), 54u);
}

TEST(RecordIndex, AnEmptyOneIsAnEmptyFiles) {
  EXPECT_THAT(read_all_entries(reader_of("")), ElementsAre());
  MemorySink sink;
  RecordIndexWriter(sink).close();
  EXPECT_EQ(sink.content, "");
}

TEST(RecordIndex, ManyEntriesGoThroughSmallBuffers) {
  MemorySink sink;
  RecordIndexWriter writer(sink);
  for (uint64_t i = 0; i < 100'000; ++i) writer.write(16 + i * i);
  writer.close();
  RecordIndexReader index = reader_of(sink.content);
  uint64_t offset = 0;
  for (uint64_t i = 0; i < 100'000; ++i) {
    ASSERT_EQ(index.read(), (RecordIndexEntry{offset, 16 + i * i}));
    offset += 16 + i * i;
  }
  EXPECT_FALSE(index.read());
  EXPECT_EQ(index.end(), offset);
}

TEST(RecordIndex, ComesByteByByteToo) {
  RecordIndexReader index(std::make_unique<TrickleSource>(kVectorsIndex));
  EXPECT_EQ(read_all_entries(std::move(index)).size(), 6u);
}

TEST(RecordIndex, GivesAnyEntry) {
  EXPECT_EQ(reader_of(kVectorsIndex).entry(0), (RecordIndexEntry{0, 16}));
  EXPECT_EQ(reader_of(kVectorsIndex).entry(5), (RecordIndexEntry{99, 36}));
  EXPECT_FALSE(reader_of(kVectorsIndex).entry(6));
  EXPECT_FALSE(reader_of(kVectorsIndex).entry(UINT64_MAX));
  RecordIndexReader index = reader_of(kVectorsIndex);
  EXPECT_EQ(index.entry(2), (RecordIndexEntry{35, 19}));
  EXPECT_EQ(index.entry(3), (RecordIndexEntry{54, 20}));
  EXPECT_EQ(error_of([&] { index.entry(3); }).kind(), ErrorKind::invalid_argument);
}

TEST(RecordIndex, WhatIsNotOneIsRefused) {
  for (const char* line : {"\n",
                           " \n",
                           "16\n",
                           "16 \n",
                           "16  19\n",
                           " 16 19\n",
                           "16 19 \n",
                           "16 19 3\n",
                           "+16 19\n",
                           "-16 19\n",
                           "16 -19\n",
                           "016 19\n",
                           "16 019\n",
                           "0x10 19\n",
                           "16\t19\n",
                           "16 19\r\n",
                           "16 1e3\n",
                           "a b\n",
                           "18446744073709551616 19\n",
                           "16 18446744073709551616\n"}) {
    const Error error = read_error("0 16\n" + std::string(line));
    EXPECT_EQ(error.kind(), ErrorKind::corrupted) << line;
    EXPECT_EQ(error.path(), "a.idx");
    EXPECT_EQ(error.offset(), 5u) << line;
    EXPECT_THAT(error.reason(), HasSubstr("line 2")) << line;
    EXPECT_NE(error.hint(), "");
  }
  EXPECT_EQ(read_error(std::string("0 16\n\0\n", 7)).kind(), ErrorKind::corrupted);
}

TEST(RecordIndex, RecordsMustFollowOneAnother) {
  for (const char* line : {"0 19\n", "15 19\n", "17 19\n", "32 19\n"}) {
    EXPECT_THAT(read_error("0 16\n" + std::string(line)).reason(),
                HasSubstr("the next one must start at 16"));
  }
  EXPECT_THAT(read_error("16 19\n").reason(), HasSubstr("the next one must start at 0"));
}

TEST(RecordIndex, RecordsHaveTheirFramingAndEndSomewhere) {
  EXPECT_THAT(read_error("0 15\n").reason(), HasSubstr("less than its framing"));
  EXPECT_THAT(read_error("0 18446744073709551615\n18446744073709551615 16\n").reason(),
              HasSubstr("beyond the largest file size"));
}

TEST(RecordIndex, ATornLineIsTruncated) {
  for (const char* text : {"0", "0 ", "0 16", "0 16\n16 1"}) {
    EXPECT_EQ(read_error(text).kind(), ErrorKind::truncated) << text;
  }
}

// The search for a newline stops at the maximum line length, so that other files are rejected fast.
TEST(RecordIndex, ALineWithoutEndIsRefusedAtOnce) {
  EXPECT_THAT(read_error(std::string(1 << 20, '1')).reason(), HasSubstr("too long"));
}

TEST(RecordIndex, TheLongestLineIsRead) {
  const std::string text = "0 18446744073709551615\n";
  EXPECT_THAT(read_all_entries(reader_of(text)), ElementsAre(RecordIndexEntry{0, UINT64_MAX}));
  EXPECT_THAT(read_error("18446744073709551615 18446744073709551615\n").reason(),
              HasSubstr("must start at 0"));
}

TEST(RecordIndex, NoEntryIsShorterThanItsFraming) {
  MemorySink sink;
  RecordIndexWriter writer(sink);
  EXPECT_EQ(error_of([&] { writer.write(15); }).kind(), ErrorKind::invalid_argument);
}

class IndexedFile : public testing::Test {
 protected:
  TemporaryDirectory directory;
  const std::string path = directory / "a.tfrecords";
  FileSystem& files = posix_file_system();
  std::string content;
  std::string index;

  // Writes records with the given data, and their index.
  void write(const std::vector<std::string>& records) {
    content.clear();
    MemorySink sink;
    RecordIndexWriter writer(sink);
    for (const std::string& record : records) {
      append_framed(as_bytes(record), content);
      writer.write(record.size() + kRecordOverhead);
    }
    writer.close();
    index = sink.content;
    write_file(path, content);
  }

  uint64_t check(IndexedHeaders headers) {
    RecordIndexReader reader = reader_of(index);
    return check_record_index(reader, *files.open_random(path), headers);
  }
};

TEST_F(IndexedFile, IsReadAtAnyPlace) {
  write({"first", "", "third"});
  const auto file = files.open_random(path);
  EXPECT_EQ(as_text(read_indexed_record(*file, *reader_of(index).entry(0))), "first");
  EXPECT_EQ(as_text(read_indexed_record(*file, *reader_of(index).entry(1))), "");
  EXPECT_EQ(as_text(read_indexed_record(*file, *reader_of(index).entry(2))), "third");
}

TEST_F(IndexedFile, WhatIsNoRecordIsNotRead) {
  write({"first", "", "third"});
  const auto file = files.open_random(path);
  for (const RecordIndexEntry& entry : {RecordIndexEntry{0, 20},
                                        {0, 22},
                                        {1, 21},
                                        {21, 17},
                                        {37, 22},
                                        {58, 16},
                                        {UINT64_MAX, 16},
                                        {0, UINT64_MAX},
                                        {0, 15}}) {
    const Error error = error_of([&] { read_indexed_record(*file, entry); });
    EXPECT_EQ(error.kind(), ErrorKind::corrupted) << entry.offset << " " << entry.size;
    EXPECT_EQ(error.path(), path);
    EXPECT_EQ(error.offset(), entry.offset);
  }
  EXPECT_EQ(error_of([&] {
              read_indexed_record(*file, {0, 21}, {.max_record_size = 4});
            }).kind(),
            ErrorKind::limit_exceeded);
}

TEST_F(IndexedFile, ItsCrcsAreChecked) {
  write({"first", "second"});
  content[14] ^= 1;
  write_file(path, content);
  const auto file = files.open_random(path);
  EXPECT_THAT(error_of([&] {
                read_indexed_record(*file, {0, 21});
              }).what(),
              HasSubstr("data CRC mismatch: corrupted record at 0"));
  EXPECT_EQ(read_indexed_record(*file, {0, 21}, {.crc = CrcCheck::never}).size(), 5u);
  EXPECT_EQ(as_text(read_indexed_record(*file, {21, 22})), "second");
}

TEST_F(IndexedFile, ViewsAreIntoAStableFileOrTheScratch) {
  write({"first", "", "third"});
  std::vector<std::byte> scratch;
  const auto mapped = files.map(path);
  const auto in_place = view_indexed_record(*mapped, {0, 21}, {}, scratch);
  EXPECT_EQ(as_text(in_place), "first");
  EXPECT_EQ(in_place.data(), mapped->bytes().data() + kRecordHeaderSize);
  EXPECT_TRUE(scratch.empty());
  const auto file = files.open_random(path);
  const auto copied = view_indexed_record(*file, {0, 21}, {}, scratch);
  EXPECT_EQ(as_text(copied), "first");
  EXPECT_EQ(copied.data(), scratch.data() + kRecordHeaderSize);
  EXPECT_EQ(as_text(view_indexed_record(*file, {21, 16}, {}, scratch)), "");
  content[14] ^= 1;
  write_file(path, content);
  const auto damaged = files.map(path);
  for (const RandomAccessFile* const one :
       {static_cast<RandomAccessFile*>(damaged.get()), file.get()}) {
    EXPECT_EQ(error_of([&] {
                view_indexed_record(*one, {0, 21}, {}, scratch);
              }).kind(),
              ErrorKind::corrupted);
  }
}

TEST_F(IndexedFile, FitsItsIndex) {
  for (const size_t records : {0, 1, 2, 15, 16, 17, 1000}) {
    std::vector<std::string> data;
    for (size_t i = 0; i < records; ++i) data.push_back(std::string(i % 7, 'x'));
    write(data);
    EXPECT_EQ(check(IndexedHeaders::all), records);
    EXPECT_EQ(check(IndexedHeaders::some), records);
  }
}

TEST_F(IndexedFile, ThatWasWrittenAnewDoesNot) {
  write({"first", "second", "third"});
  const std::string old = index;
  for (const std::vector<std::string>& records : {std::vector<std::string>{},
                                                  {"first"},
                                                  {"first", "second", "third", ""},
                                                  {"first", "third", "second"},
                                                  {"first", "second", "third!"}}) {
    write(records);
    index = old;
    for (const IndexedHeaders headers : {IndexedHeaders::all, IndexedHeaders::some}) {
      const Error error = error_of([&] { check(headers); });
      EXPECT_EQ(error.kind(), ErrorKind::checksum_mismatch);
      EXPECT_EQ(error.path(), "a.idx");
      EXPECT_THAT(error.hint(), HasSubstr("recreate it"));
    }
  }
}

TEST_F(IndexedFile, AnotherOfTheSameSizeIsFoundBySomeHeaders) {
  std::vector<std::string> data(1000, "ab");
  write(data);
  const std::string old = index;
  data.front() = "abc";
  data.back() = "a";
  write(data);
  index = old;
  EXPECT_EQ(error_of([&] { check(IndexedHeaders::some); }).kind(), ErrorKind::checksum_mismatch);
}

}  // namespace
}  // namespace recordpipe
