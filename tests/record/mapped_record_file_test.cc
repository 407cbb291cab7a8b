// What only mapped files meet: they can change while they are mapped.
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "dataset/record/record_format.h"
#include "dataset/record/record_reader.h"
#include "dataset/record/record_writer.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"
#include "tests/support/faulty_file_system.h"
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
  // With checks off nothing tells that record 50, whose length is still there, isn't whole.
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

// What AtomicFile does to a reader.
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

}  // namespace
}  // namespace recordpipe
