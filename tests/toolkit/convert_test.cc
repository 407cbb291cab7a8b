// Tests the conversion of whole files: many inputs beside one after the other, and what is read to
// count the records.
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "dataset/toolkit/files/scan_file.h"
#include "dataset/toolkit/jobs/convert_records.h"
#include "recordpipe/base/error.h"
#include "recordpipe/record/record_index.h"
#include "recordpipe/record/record_writer.h"
#include "tests/support/bytes.h"
#include "tests/support/faulty_file_system.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

class ConvertManyTest : public testing::Test {
 protected:
  // 30 files of 0 to 290 records, compressed by turns; the records are added to a file "serial",
  // too, one after the other.
  ConvertManyTest() {
    RecordWriter serial(posix_file_system(), folder_ / "serial");
    for (int i = 0; i < 30; ++i) {
      constexpr Compression kAll[] = {Compression::none, Compression::gzip, Compression::zstd};
      paths_.push_back(folder_ / ("f" + std::to_string(i)));
      RecordWriter writer(posix_file_system(), paths_.back(), {.compression = kAll[i % 3]});
      for (int n = 0; n < i * 10; ++n) {
        const std::string text = std::to_string(i) + "." + std::to_string(n) + std::string(n, 'x');
        writer.write(as_bytes(text));
        serial.write(as_bytes(text));
        ++records_;
      }
      writer.close();
    }
    serial.close();
  }

  ConvertReport convert(size_t threads, ConvertOptions options = {}) const {
    options.input.paths = paths_;
    options.selection.threads = threads;
    if (options.output.path.empty()) options.output.path = folder_ / "out";
    options.output.threads = threads;
    return convert_records({.files = posix_file_system()}, std::move(options));
  }

  // Damages a byte in the middle of a file.
  void damage(const std::string& path) const {
    std::string content = read_file(path);
    content[content.size() / 2] ^= 1;
    std::ofstream(path, std::ios::binary) << content;
  }

  std::optional<Error> error_of(size_t threads) const {
    try {
      convert(threads);
    } catch (const Error& error) {
      return error;
    }
    return std::nullopt;
  }

  TemporaryDirectory folder_;
  std::vector<std::string> paths_;
  uint64_t records_ = 0;
};

TEST_F(ConvertManyTest, TheBytesAreThoseOfOneFileAfterTheOther) {
  for (const size_t threads : {1, 2, 4}) {
    const ConvertReport report = convert(threads);
    EXPECT_EQ(report.read, records_);
    EXPECT_TRUE(read_file(folder_ / "out") == read_file(folder_ / "serial")) << threads;
  }
}

// A reader of that file alone finds the same error at the same place.
TEST_F(ConvertManyTest, ADamagedFileInTheMiddleIsTheSameError) {
  for (const size_t damaged : {15u, 16u, 17u}) {  // plain, gzip, zstd
    const std::string before = read_file(paths_[damaged]);
    damage(paths_[damaged]);
    std::optional<Error> alone;
    try {
      RecordReader reader(posix_file_system(), paths_[damaged]);
      while (reader.read()) {
      }
    } catch (const Error& error) {
      alone = error;
    }
    ASSERT_TRUE(alone);
    for (const size_t threads : {1, 2, 4}) {
      const auto error = error_of(threads);
      ASSERT_TRUE(error);
      EXPECT_EQ(std::string(error->what()), alone->what());
      EXPECT_EQ(error->kind(), alone->kind());
      EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
    }
    std::ofstream(paths_[damaged], std::ios::binary) << before;
  }
}

// Converts files of few long records to shards, and counts what is read.
class ConvertCountsTest : public testing::Test {
 protected:
  static constexpr uint64_t kRecords = 12;

  // `index`: write PATH.idx, too.
  void write(const std::string& name, Compression compression, bool index = false,
             uint64_t records = kRecords) {
    paths_.push_back(folder_ / name);
    RecordWriter writer(posix_file_system(), paths_.back(), {.compression = compression});
    for (uint64_t i = 0; i < records; ++i) {
      writer.write(as_bytes(name + std::to_string(i) + std::string(100'000, 'x')));
    }
    writer.close();
    if (!index) return;
    const auto file =
        posix_file_system().create(record_index_path(paths_.back()), CreateMode::truncate);
    write_index({.files = posix_file_system()}, paths_.back(), 1, "", *file);
    file->close();
  }

  // How often the inputs' bytes are read.
  double times_read(ConvertOptions options) {
    uint64_t size = 0;
    for (const std::string& path : paths_) size += std::filesystem::file_size(path);
    FaultyFileSystem files(posix_file_system());
    options.input.paths = paths_;
    options.output.path = folder_ / "out";
    report_ = convert_records({.files = files}, std::move(options));
    return static_cast<double>(files.bytes_read()) / static_cast<double>(size);
  }

  TemporaryDirectory folder_;
  std::vector<std::string> paths_;
  ConvertReport report_;
};

TEST_F(ConvertCountsTest, FilesWithAnIndexAreReadOnce) {
  write("a", Compression::none, true);
  write("b", Compression::none, true);
  EXPECT_LT(times_read({.output = {.shards = 5}}), 1.01);
  std::vector<uint64_t> counts;
  for (const WrittenFile& file : report_.files) counts.push_back(file.records);
  EXPECT_EQ(counts, (std::vector<uint64_t>{4, 5, 5, 5, 5}));
}

TEST_F(ConvertCountsTest, OfPlainFilesOnlyTheHeadersAreReadFirst) {
  write("a", Compression::none, true);
  write("b", Compression::none);
  EXPECT_LT(times_read({.output = {.shards = 5}}), 1.05);
  EXPECT_LT(times_read({.output = {.shards = 5}, .selection = {.fraction = 0.5}}), 1.05);
  EXPECT_LT(report_.taken, 2 * kRecords);
  EXPECT_LT(times_read({.sample_count = 7}), 1.05);
  EXPECT_EQ(report_.files[0].records, 7u);
}

TEST_F(ConvertCountsTest, OthersAreReadTwice) {
  write("a", Compression::gzip);
  EXPECT_GT(times_read({.output = {.shards = 5}}), 1.9);
  EXPECT_LT(times_read({}), 1.1);
  paths_.clear();
  write("b", Compression::none, true, 60);
  EXPECT_GT(
      times_read({.output = {.shards = 5}, .selection = {.where = Where("record.number >= 2")}}),
      1.9);
  EXPECT_EQ(report_.taken, 58U);
  // Damage behind the limit isn't met.
  std::filesystem::resize_file(paths_[0], std::filesystem::file_size(paths_[0]) - 1);
  times_read({.output = {.shards = 2}, .selection = {.limit = 3}});
  EXPECT_EQ(report_.taken, 3u);
}

// Of 30 MB, 6 MB are selected, or 3 MB.
TEST_F(ConvertCountsTest, FewRecordsAreKept) {
  write("b", Compression::none, false, 300);
  std::string which = "record.number in [0";
  for (int i = 5; i < 300; i += 5) which += "," + std::to_string(i);
  const auto fifth = [&](const std::string& directory = "") {
    ConvertOptions options = {
        .output = {.shards = 4, .split = {.parts = {{"x", 0.5}, {"y", 0.5}}}}};
    options.selection.where.emplace(which + "]");
    options.temporary_directory = directory;
    return options;
  };
  const auto contents = [&] {
    std::vector<std::string> all;
    for (const WrittenFile& file : report_.files) all.push_back(read_file(file.path));
    return all;
  };
  EXPECT_GT(times_read(fifth()), 1.9);
  EXPECT_EQ(report_.taken, 60U);
  const std::vector<std::string> wanted = contents();
  EXPECT_EQ(wanted.size(), 8U);
  EXPECT_LT(times_read(fifth(folder_.path())), 1.1);
  EXPECT_TRUE(contents() == wanted);
  EXPECT_EQ(report_.read, 300U);
  EXPECT_EQ(report_.taken, 60U);
  // A file that can't be written is no error: the input is read again.
  EXPECT_GT(times_read(fifth(folder_ / "missing")), 1.9);
  EXPECT_TRUE(contents() == wanted);
  ConvertOptions limited = fifth();
  limited.selection.limit = 30;
  EXPECT_LT(times_read(std::move(limited)), 1.1);
  EXPECT_EQ(report_.taken, 30U);
}

// An index that hides a record between two of its entries passes the checks of a few headers.
TEST_F(ConvertCountsTest, AWrongIndexIsAnError) {
  const std::string path = folder_ / "many";
  {
    RecordWriter writer(posix_file_system(), path);
    for (int i = 0; i < 1000; ++i) writer.write({});
    writer.close();
    std::ofstream index(record_index_path(path));
    for (int i = 0; i < 1000; ++i) {
      if (i == 501) continue;
      index << i * 16 << ' ' << (i == 500 ? 32 : 16) << '\n';
    }
  }
  paths_.push_back(path);
  try {
    times_read({.output = {.shards = 2}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::corrupted);
    EXPECT_EQ(error.reason(), "999 records were counted, but 1000 were read");
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out-00000-of-00002"));
}

}  // namespace
}  // namespace recordpipe
