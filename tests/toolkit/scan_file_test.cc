// Tests scans of whole files: that a small file, which is loaded, and a large one, which is mapped,
// give the same results, and how much is asked of the file system.
#include "dataset/toolkit/files/scan_file.h"

#include <string>

#include <gtest/gtest.h>

#include "recordpipe/io/compression.h"
#include "recordpipe/record/record_writer.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"
#include "tests/support/faulty_file_system.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

class ScanFile : public testing::Test {
 protected:
  std::string write(uint64_t size, Compression compression = Compression::none) {
    const std::string path = folder_ / "a";
    RecordWriter writer(posix_file_system(), path, {.compression = compression});
    for (uint64_t i = 0; i < size; i += 1000) writer.write(as_bytes(std::string(984, 'x')));
    writer.close();
    return path;
  }
  // Returns what the sinks got; intact bytes as they are.
  std::string scanned(const std::string& path, const RecordReadOptions& reading = {}) {
    std::string text;
    totals_ = scan_file({.files = files_}, path, reading, 2,
                        {.intact = [&](auto framed, uint64_t) { text += as_text(framed); },
                         .damaged =
                             [&](const DamagedRegion& region) {
                               text += "[" + std::to_string(region.begin) + ", " +
                                       std::to_string(region.end) + ") " + region.reason;
                             }});
    return text;
  }

  TemporaryDirectory folder_;
  FaultyFileSystem files_ = FaultyFileSystem(posix_file_system());
  ScanTotals totals_;
};

TEST_F(ScanFile, ContentsOfAnySizeReachTheSinks) {
  for (const uint64_t size : {0, 1000, 60'000, 1'040'000, 1'060'000, 3'000'000}) {
    const std::string path = write(size);
    EXPECT_EQ(scanned(path), read_file(path)) << size;
    EXPECT_EQ(totals_.records, size / 1000);
    EXPECT_FALSE(totals_.cut);
    EXPECT_TRUE(totals_.intact());
  }
}

TEST_F(ScanFile, DamageIsFoundInSmallAndLargeFiles) {
  for (const uint64_t size : {5000, 3'000'000}) {
    const std::string path = write(size);
    std::string bytes = read_file(path);
    bytes[2500] ^= 1;
    bytes.pop_back();
    write_file(path, bytes);
    const std::string found = scanned(path);
    EXPECT_NE(found.find("[2000, 3000) "), std::string::npos);
    EXPECT_NE(found.find("[" + std::to_string(size - 1000) + ", " + std::to_string(size - 1) + ")"),
              std::string::npos);
    EXPECT_EQ(totals_.lost.regions, 2u);
    EXPECT_EQ(totals_.records, size / 1000 - 2);
  }
}

TEST_F(ScanFile, CompressedFilesOfAnySize) {
  for (const Compression compression : {Compression::gzip, Compression::zlib, Compression::zstd}) {
    for (const uint64_t size : {0, 5000, 3'000'000}) {
      const std::string path = write(size, compression);
      EXPECT_EQ(scanned(path).size(), size);
      EXPECT_EQ(totals_.compression, compression);
      EXPECT_EQ(scanned(path, {.compression = compression}).size(), size);
    }
  }
}

TEST_F(ScanFile, AsksLittleOfTheFileSystem) {
  const std::string path = write(60'000);
  scanned(path);
  EXPECT_EQ(files_.calls(), 3u);  // status, open, read
  FaultyFileSystem files(posix_file_system());
  const FileWork work{.files = files};
  const InputStatus status = input_status(work, path);
  scan_file(work, path, {}, 1, {.intact = [](auto, uint64_t) {}}, status);
  EXPECT_EQ(files.calls(), 3u);
}

TEST_F(ScanFile, AMissingFileIsReportedWhenItIsOpened) {
  EXPECT_EQ(error_of([&] { scanned(folder_ / "missing"); }).kind(), ErrorKind::not_found);
}

}  // namespace
}  // namespace recordpipe
