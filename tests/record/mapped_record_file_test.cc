// Tests what only applies to files with random access: changes while they are open, and indexes.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/record/record_format.h"
#include "recordpipe/record/record_reader.h"
#include "recordpipe/record/record_writer.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"
#include "tests/support/faulty_file_system.h"
#include "tests/support/framed_records.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

constexpr size_t kRecords = 100;
constexpr size_t kRecordSize = 1000;

class ChangingFile : public testing::TestWithParam<CrcCheck> {
 protected:
  TemporaryDirectory directory;
  const std::string path = directory / "a.tfrecords";
  const RecordReadOptions options = {.crc = GetParam()};

  void SetUp() override {
    RecordWriter writer(posix_file_system(), path);
    for (size_t i = 0; i < kRecords; ++i) {
      writer.write(as_bytes(std::string(kRecordSize, static_cast<char>('0' + i % 10))));
    }
    writer.close();
  }
};

std::string name_of(const testing::TestParamInfo<CrcCheck>& info) {
  switch (info.param) {
    case CrcCheck::always:
      return "always";
    case CrcCheck::once:
      return "once";
    case CrcCheck::never:
      return "never";
  }
  return "unknown";
}

INSTANTIATE_TEST_SUITE_P(CrcChecks, ChangingFile,
                         testing::Values(CrcCheck::always, CrcCheck::once, CrcCheck::never),
                         name_of);

TEST_P(ChangingFile, CutWhileMapped) {
  const MappedRecordFile file(posix_file_system(), path, options);
  const uint64_t cut = 50 * (kRecordSize + kRecordOverhead) + 3;
  std::filesystem::resize_file(path, cut);
  for (size_t i = 0; i < 50; ++i) EXPECT_EQ(file.read(i).data.size(), kRecordSize);
  // Without CRC checks, nothing reveals that record 50 is incomplete: its length field is intact.
  for (size_t i = kRecords; i-- > (GetParam() == CrcCheck::never ? 51u : 50u);) {
    const Error error = error_of([&] { file.read(i); });
    EXPECT_EQ(error.kind(), ErrorKind::truncated);
    EXPECT_EQ(error.offset(), i * (kRecordSize + kRecordOverhead));
    EXPECT_NE(error.hint(), "");
    EXPECT_EQ(file.view(i).data.size(), kRecordSize);  // no crash
  }
  EXPECT_TRUE(file.damaged());
}

TEST_P(ChangingFile, ADamagedRecordIsFoundAsOftenAsItWasAskedFor) {
  const MappedRecordFile file(posix_file_system(), path, options);
  EXPECT_EQ(file.read(3).data.size(), kRecordSize);
  for (const size_t record : {3, 4}) {
    std::fstream content(path, std::ios::in | std::ios::out | std::ios::binary);
    content.seekp(static_cast<std::streamoff>(record * (kRecordSize + kRecordOverhead) + 500));
    content << "damage";
  }
  const auto is_found = [&](size_t record) {
    try {
      file.read(record);
      return false;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::corrupted);
      return true;
    }
  };
  EXPECT_EQ(is_found(3), GetParam() == CrcCheck::always);
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(is_found(4), GetParam() != CrcCheck::never);
  }
}

TEST_P(ChangingFile, CutToNothingWhileManyThreadsRead) {
  const MappedRecordFile file(posix_file_system(), path, options);
  std::filesystem::resize_file(path, 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (size_t i = 0; i < kRecords; ++i) {
        EXPECT_EQ(error_of([&] { file.read(i); }).kind(), ErrorKind::truncated);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(ChangingFile, RewrittenWhileMapped) {
  const MappedRecordFile file(posix_file_system(), path, options);
  const std::string other(std::filesystem::file_size(path), 'x');
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary) << other;
  EXPECT_EQ(error_of([&] { file.read(7); }).kind(), ErrorKind::corrupted);
}

// RecordWriter replaces the file atomically.
TEST_P(ChangingFile, ReplacedWhileMappedStaysWhatItWas) {
  const MappedRecordFile file(posix_file_system(), path, options);
  RecordWriter writer(posix_file_system(), path);
  writer.write(as_bytes("new"));
  writer.close();
  EXPECT_EQ(as_text(file.read(99).data), std::string(kRecordSize, '9'));
  EXPECT_FALSE(file.damaged());
}

TEST(MappedRecordFile, MovesWithItsRecords) {
  TemporaryDirectory directory;
  RecordWriter writer(posix_file_system(), directory / "a");
  writer.write(as_bytes("foo"));
  writer.close();
  MappedRecordFile file(posix_file_system(), directory / "a");
  const Record record = file.read(0);
  const MappedRecordFile moved = std::move(file);
  EXPECT_EQ(as_text(record.data), "foo");
  EXPECT_EQ(moved.read(0).data.data(), record.data.data());
  EXPECT_EQ(moved.path(), directory / "a");
}

class UnmappedRecordFile : public testing::Test {
 protected:
  UnmappedRecordFile() { write_file(path, framed({"first", std::string(kRecordSize, 'x'), ""})); }

  MappedRecordFile open(const RecordReadOptions& options = {}) const {
    return {posix_file_system(), path, options, {.file = posix_file_system().open_random(path)}};
  }

  TemporaryDirectory directory;
  const std::string path = directory / "a";
};

TEST_F(UnmappedRecordFile, RecordsOwnTheirBytes) {
  std::vector<Record> records;
  {
    const MappedRecordFile file = open();
    EXPECT_TRUE(file.bytes().empty());
    for (size_t i = 0; i < file.size(); ++i) {
      file.prefetch(i);
      records.push_back(file.read(i));
      EXPECT_EQ(as_text(file.view(i).data), as_text(records.back().data));
    }
  }
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(as_text(records[0].data), "first");
  EXPECT_EQ(as_text(records[1].data), std::string(kRecordSize, 'x'));
  EXPECT_EQ(records[1].offset, 5 + kRecordOverhead);
  EXPECT_EQ(as_text(records[2].data), "");
}

// Each read may return other bytes.
TEST_F(UnmappedRecordFile, EachReadIsChecked) {
  const MappedRecordFile file = open({.crc = CrcCheck::once});
  EXPECT_EQ(as_text(file.read(0).data), "first");
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(13).put('X');
  EXPECT_EQ(error_of([&] { file.read(0); }).kind(), ErrorKind::corrupted);
  EXPECT_EQ(as_text(file.read(1).data), std::string(kRecordSize, 'x'));
  std::filesystem::resize_file(path, 100);
  EXPECT_EQ(error_of([&] { file.read(1); }).kind(), ErrorKind::truncated);
  EXPECT_TRUE(file.damaged());
}

TEST_F(UnmappedRecordFile, ALongRecordTakesNoMemory) {
  const MappedRecordFile file = open({.max_record_size = kRecordSize - 1});
  EXPECT_EQ(as_text(file.read(0).data), "first");
  for (const Error& error : {error_of([&] { file.read(1); }), error_of([&] { file.view(1); })}) {
    EXPECT_EQ(error.kind(), ErrorKind::limit_exceeded);
    EXPECT_EQ(error.offset(), 5 + kRecordOverhead);
  }
}

// A file with an index; the parameter is true if the file is not mapped.
class MappedIndexedFile : public testing::TestWithParam<bool> {
 protected:
  static constexpr size_t kCount = 1500;
  TemporaryDirectory directory;
  const std::string path = directory / "a.tfrecords";
  std::vector<std::string> texts;
  std::vector<uint64_t> starts;

  // Writes kCount records of about `size` bytes; with 1,000 bytes each, they exceed 1 MiB.
  void write(size_t size) {
    texts.clear();
    starts.clear();
    uint64_t end = 0;
    RecordWriter writer(posix_file_system(), path);
    for (size_t i = 0; i < kCount; ++i) {
      texts.push_back(std::to_string(i) + std::string(size + i * 7 % 31, 'x'));
      writer.write(as_bytes(texts.back()));
      starts.push_back(end);
      end += texts.back().size() + kRecordOverhead;
    }
    writer.close();
    starts.push_back(end);
  }

  static std::string line(uint64_t begin, uint64_t end) {
    return std::to_string(begin) + " " + std::to_string(end - begin) + "\n";
  }
  static std::string index_of(const std::vector<uint64_t>& starts) {
    std::string text;
    for (size_t i = 0; i + 1 < starts.size(); ++i) text += line(starts[i], starts[i + 1]);
    return text;
  }
  void write_index(const std::string& text) const {
    std::ofstream(path + ".idx", std::ios::binary | std::ios::trunc) << text;
  }
  void damage(uint64_t offset) const {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(offset));
    file.put('\x77');
  }

  // Null if the file is to be mapped.
  std::shared_ptr<const RandomAccessFile> opened() const {
    if (!GetParam()) return nullptr;
    return posix_file_system().open_random(path);
  }
  MappedRecordFile open(CrcCheck crc = CrcCheck::once) const {
    return {posix_file_system(), path, {.crc = crc}, {.use_index = true, .file = opened()}};
  }
  // Expects all records to be correct except those in [bad, bad_end), which must throw.
  void expect_records(const MappedRecordFile& file, size_t bad = 0, size_t bad_end = 0) const {
    ASSERT_EQ(file.size(), kCount);
    for (size_t i = 0; i < kCount; ++i) {
      if (i < bad || i >= bad_end) {
        ASSERT_EQ(as_text(file.read(i).data), texts[i]) << i;
        continue;
      }
      const Error error = error_of([&] { file.read(i); });
      EXPECT_EQ(error.kind(), ErrorKind::corrupted);
      EXPECT_EQ(error.path(), path);
      EXPECT_EQ(error.offset(), file.view(i).offset);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Unmapped, MappedIndexedFile, testing::Bool());

TEST_P(MappedIndexedFile, ADamagedHeaderCostsItsRecordOnly) {
  for (const size_t size : {10, 1000}) {  // the index is read after the records, and before
    write(size);
    write_index(index_of(starts));
    expect_records(open());
    // The first record, one in the middle, and the last; in a large file, the index check samples
    // the first and the last.
    for (const size_t bad : {size_t{0}, kCount / 3, kCount - 1}) {
      write(size);
      damage(starts[bad] + 1);
      expect_records(open(), bad, bad + 1);
      EXPECT_EQ(error_of([&] { MappedRecordFile(posix_file_system(), path); }).offset(),
                starts[bad]);
    }
  }
}

TEST_P(MappedIndexedFile, AnIndexThatDoesNotFitIsIgnored) {
  for (const size_t size : {10, 1000}) {
    write(size);
    const std::string right = index_of(starts);
    // Half of the lengths are wrong, as in the index of a file that was rewritten.
    std::vector<uint64_t> stale = starts;
    for (size_t i = 1; i + 1 < stale.size(); i += 2) stale[i] += 3;
    const std::string longer = right + line(starts.back(), starts.back() + 20);
    for (const std::string& text :
         {std::string(), index_of(stale), right + "\n", longer, right.substr(0, right.size() - 1),
          right.substr(0, right.rfind('\n', right.size() - 2) + 1), std::string(100, '\0'),
          line(0, starts.back()), "0 18446744073709551615\n" + right, right + "-1 5\n"}) {
      write_index(text);
      expect_records(open());
    }
    std::filesystem::remove(path + ".idx");
    std::filesystem::create_directory(path + ".idx");
    expect_records(open());
    std::filesystem::remove(path + ".idx");
  }
}

TEST_P(MappedIndexedFile, NoIndexMakesAWrongRecord) {
  write(1000);
  // Two records that the sample misses: one longer, one shorter.
  std::vector<uint64_t> lying = starts;
  lying[701] += 40;
  write_index(index_of(lying));
  expect_records(open(), 700, 702);
  // Without CRC checks, the wrong lengths can't be detected, so the index is not used.
  expect_records(open(CrcCheck::never));
  // A file inside a record: the index contains the positions of the inner file's records.
  texts = {"a", "b"};
  RecordWriter inner(posix_file_system(), directory / "inner");
  for (const std::string& text : texts) inner.write(as_bytes(text));
  inner.close();
  std::ifstream file(directory / "inner", std::ios::binary);
  const std::string content(std::istreambuf_iterator<char>(file), {});
  RecordWriter outer(posix_file_system(), path);
  outer.write(as_bytes(content));
  outer.close();
  write_index("0 12\n12 17\n29 17\n46 4\n");
  EXPECT_EQ(open().size(), 1u);
  EXPECT_EQ(as_text(open().read(0).data), content);
}

TEST_P(MappedIndexedFile, AnIndexThatDisagreesBeforeTheDamageIsIgnored) {
  write(10);
  damage(starts[500]);
  starts[100] += 5;
  write_index(index_of(starts));
  EXPECT_EQ(error_of([&] { open(); }).offset(), starts[500]);
}

TEST_P(MappedIndexedFile, OpeningCanBeStopped) {
  for (const size_t size : {10, 1000}) {
    write(size);
    write_index(index_of(starts));
    std::stop_source stop;
    stop.request_stop();
    const Error error = error_of([&] {
      MappedRecordFile(posix_file_system(), path, {},
                       {.use_index = true, .file = opened(), .stop = stop.get_token()});
    });
    EXPECT_EQ(error.kind(), ErrorKind::cancelled);
  }
}

}  // namespace
}  // namespace recordpipe
