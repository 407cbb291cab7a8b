// Tests scans for intact records: the records found, the damaged regions and their reasons; on one
// thread and on many, with mapped files and streams.
#include "recordpipe/record/record_scanner.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataset/record/scan/scan_input.h"
#include "recordpipe/base/internal/endian.h"
#include "recordpipe/checksum/crc32c.h"
#include "recordpipe/io/compression.h"
#include "recordpipe/record/parallel_record_scanner.h"
#include "recordpipe/record/record_format.h"
#include "recordpipe/record/record_writer.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"
#include "tests/support/framed_records.h"
#include "tests/support/scan_comparison.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/unstable_file.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Returns the only damaged region of `content`. All scans must agree on it.
DamagedRegion only_region(const std::string& content) {
  EXPECT_EQ(compare_scans(content), "");
  const ScanWithReasons result = scan_mapped(content);
  EXPECT_EQ(result.damage.size(), 1u);
  return result.damage.empty() ? DamagedRegion{} : result.damage.front();
}

size_t intact(const std::string& content) { return scan_mapped(content).scan.records.size(); }

TEST(RecordScan, AnEmptyFileIsIntact) {
  EXPECT_EQ(compare_scans(""), "");
  EXPECT_EQ(scan_mapped("").scan, Scan{});
}

TEST(RecordScan, IntactRecordsAreOneStretch) {
  EXPECT_EQ(compare_scans(framed({"", "a", "", "b"})), "");
  EXPECT_THAT(scan_mapped(framed(kThree)).scan,
              (Scan{{{0, kSecond}, {kSecond, kThird}, {kThird, kEnd}}, {}}));
}

TEST(RecordScan, ABitFlippedAtEveryPositionCostsOneRecord) {
  const std::string whole = framed(kThree);
  const std::vector<std::pair<uint64_t, uint64_t>> places = {
      {0, kSecond}, {kSecond, kThird}, {kThird, kEnd}};
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    ASSERT_EQ(compare_scans(damaged), "") << "bit " << bit;
    Scan expected;
    for (const auto& place : places) {
      const bool is_hit = place.first <= bit / 8 && bit / 8 < place.second;
      (is_hit ? expected.regions : expected.records).push_back(place);
    }
    ASSERT_EQ(scan_mapped(damaged).scan, expected) << "bit " << bit;
  }
}

TEST(RecordScan, ACutAtEveryLengthLeavesTheRecordsBefore) {
  const std::string whole = framed(kThree);
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::string cut = whole.substr(0, size);
    ASSERT_EQ(compare_scans(cut), "") << size;
    const uint64_t records = size < kSecond ? 0 : size < kThird ? 1 : 2;
    const uint64_t begin = records == 0 ? 0 : records == 1 ? kSecond : kThird;
    ASSERT_EQ(intact(cut), records) << size;
    if (size == begin) continue;
    const DamagedRegion region = only_region(cut);
    ASSERT_EQ(region.begin, begin);
    ASSERT_EQ(region.end, size);
    const char* const where = size - begin < kRecordHeaderSize              ? "header"
                              : whole.size() - size >= 4 || begin != kThird ? "data"
                                                                            : "data CRC";
    ASSERT_THAT(region.reason, HasSubstr("the file ends inside the ")) << size;
    ASSERT_THAT(region.reason, HasSubstr(where)) << size;
  }
}

// Places each kind of broken record between two intact records.
TEST(RecordScan, ReasonsSayWhatIsWrong) {
  const std::string before = framed({"before"});
  const std::string after = framed({"after"});
  const auto reason = [&](const std::string& broken) {
    const DamagedRegion region = only_region(before + broken + after);
    EXPECT_EQ(region.begin, before.size());
    EXPECT_EQ(region.end, before.size() + broken.size());
    EXPECT_NE(region.hint, "");
    return region.reason;
  };
  std::string record = framed({"record"});
  record[0] ^= 1;
  EXPECT_EQ(reason(record), "length CRC mismatch: corrupted record");
  record = framed({"record"});
  record[12] ^= 1;
  EXPECT_EQ(reason(record), "data CRC mismatch: corrupted record");
  record = framed({"record"});
  store_little_endian(crc32c(as_bytes("record")), reinterpret_cast<std::byte*>(&record[18]));
  EXPECT_EQ(reason(record), "data CRC is not masked: corrupted record");
  record = framed({"record"});
  store_little_endian(crc32c(as_bytes(record.substr(0, 8))),
                      reinterpret_cast<std::byte*>(&record[8]));
  EXPECT_EQ(reason(record), "length CRC is not masked: corrupted record");
  EXPECT_EQ(reason(header_of(1 << 20) + "data"),
            "the length reaches beyond the end of the file: corrupted record");
  EXPECT_EQ(reason(header_of(UINT64_MAX) + "data"),
            "a length of 18446744073709551615 bytes, more than any file has: corrupted record");
  EXPECT_EQ(reason(std::string(50, '\0')), "length CRC mismatch: corrupted record");
  EXPECT_THAT(only_region(before + std::string(50, '\0') + after).hint,
              HasSubstr("zeros where a record should start"));
}

TEST(RecordScan, ReasonsOfTheEndSayWhatIsThere) {
  const std::string before = framed({"before"});
  for (const size_t zeros : {1, 11, 12, 16, 17, 5000}) {
    EXPECT_EQ(only_region(before + std::string(zeros, '\0')).reason,
              "zeros up to the end of the file");
    EXPECT_EQ(only_region(std::string(zeros, '\0')).reason, "zeros up to the end of the file");
  }
  EXPECT_NE(only_region(before + std::string(50, '\0') + 'x').reason,
            "zeros up to the end of the file");
  EXPECT_THAT(only_region(before + std::string(100, 'g')).reason, HasSubstr("garbage"));
  EXPECT_EQ(only_region(before + header_of(100) + "cut").reason,
            "the file ends inside the data: truncated record");
}

TEST(RecordScan, HintsSayWhatAFileIsInstead) {
  EXPECT_THAT(only_region("version https://git-lfs.github.com/spec/v1\noid sha256:0").hint,
              HasSubstr("Git LFS"));
  EXPECT_THAT(only_region("<!DOCTYPE html><html>no</html>").hint, HasSubstr("HTML"));
  EXPECT_THAT(only_region(from_hex("1f8b080000000000") + std::string(20, 'x')).hint,
              HasSubstr("gzip"));
}

TEST(RecordScan, DamageThatTouchesIsOneRegion) {
  const std::string bad = header_of(3) + "badCRC!";
  const DamagedRegion region = only_region(framed({"a"}) + bad + bad + "x" + framed({"b"}));
  EXPECT_EQ(region.begin, 17u);
  EXPECT_EQ(region.size(), 2 * bad.size() + 1);
}

TEST(RecordScan, RecordsInsideADamagedOneAreFound) {
  std::string outer = framed({"xx" + framed({"inner", "other"}) + "yy"});
  outer[12] ^= 1;
  EXPECT_EQ(compare_scans(outer), "");
  EXPECT_EQ(intact(outer), 2u);
}

TEST(RecordScan, RecordsInsideAnIntactOneAreItsData) {
  std::string nested = framed({"a", framed({"b", "c"}), "d"});
  for (int depth = 0; depth < 5; ++depth) nested = framed({"x", nested, "", nested.substr(3)});
  EXPECT_EQ(compare_scans(nested), "");
  EXPECT_EQ(intact(nested), 4u);
}

// All scans agree on random combinations of small parts.
TEST(RecordScan, AnythingIsScannedAlike) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    std::string content;
    for (size_t parts = random() % 20; parts > 0; --parts) {
      const size_t size = random() % (random() % 4 == 0 ? 700 : 40);
      switch (random() % 9) {
        case 0:
        case 1:
        case 2:
        case 3:
          content += framed({random_text(random, size)});
          break;
        case 4:
          content += framed({framed({random_text(random, size), "nested"})});
          break;
        case 5:
          content += header_of(random() % 3000);  // usually a false header
          break;
        case 6:
          content += std::string(size, '\0');
          break;
        case 7:
          content += random_text(random, size);
          break;
        case 8: {
          std::string record = framed({framed({random_text(random, size)})});
          record[random() % record.size()] ^= 4;
          content += record;
          break;
        }
      }
    }
    ASSERT_EQ(compare_scans(content), "") << "round " << round;
  }
}

TEST(RecordScan, LargeRecordsAreCheckedInPieces) {
  std::mt19937_64 random(3);
  std::string content = framed({"small"});
  for (int i = 0; i < 6; ++i) content += framed({random_text(random, 300'000 + 1000 * i)});
  for (const uint64_t damage : {uint64_t{0}, uint64_t{400'000}, uint64_t{1'700'000}}) {
    if (damage > 0) content[damage] ^= 16;
    const ScanWithReasons serial = scan_mapped(content);
    EXPECT_EQ(serial.scan, scan_naively(content));
    for (const size_t threads : {1, 2, 5}) {
      for (const uint64_t chunk : {uint64_t{4096}, uint64_t{65536}, uint64_t{1} << 20}) {
        const ScanWithReasons parallel = scan_in_parallel(content, threads, chunk);
        EXPECT_EQ(parallel.scan, serial.scan);
        EXPECT_EQ(parallel.damage, serial.damage);
      }
    }
  }
}

// There is a false header with a valid CRC and a large length every twelve bytes. Checking each one
// separately would read 500 GB.
TEST(RecordScan, LiesTakeNoSquareOfTime) {
  constexpr size_t kHeaders = 300'000;
  std::string lies;
  for (size_t i = 0; i < kHeaders; ++i) lies += header_of((kHeaders - i) * kRecordHeaderSize - 63);
  lies += std::string(50, 'x');
  lies += framed({"the end"});
  const Scan expected = {{{lies.size() - 23, lies.size()}}, {{0, lies.size() - 23}}};
  EXPECT_EQ(scan_mapped(lies).scan, expected);
  EXPECT_EQ(scan_stream(lies).scan, expected);
  EXPECT_EQ(scan_in_parallel(lies, 2, 1 << 20).scan, expected);
}

// The same, with a record after each false header, after which the scan continues.
TEST(RecordScan, LiesBetweenRecordsTakeNoSquareOfTime) {
  constexpr size_t kLies = 100'000;
  const std::string empty = framed({""});
  const size_t size = kLies * (kRecordHeaderSize + empty.size());
  std::string lies;
  while (lies.size() < size) lies += header_of(size - lies.size() - 20) + empty;
  const Scan serial = scan_mapped(lies).scan;
  EXPECT_EQ(serial.records.size(), kLies);
  EXPECT_EQ(scan_stream(lies).scan, serial);
  EXPECT_EQ(scan_in_parallel(lies, 2, 1 << 20).scan, serial);
}

class CountingFile final : public MappedFile {
 public:
  explicit CountingFile(std::string content) : content_(std::move(content)) {}
  std::span<const std::byte> bytes() const override { return as_bytes(content_); }
  bool damaged() const override { return false; }
  void hint(uint64_t, uint64_t, ReadHint) const override { ++releases_; }
  // Counts reads that copy, not views.
  std::span<const std::byte> read(uint64_t offset, size_t size,
                                  std::span<std::byte> scratch) const override {
    if (!scratch.empty()) {
      ++reads_;
      bytes_read_ += size;
    }
    return MappedFile::read(offset, size, scratch);
  }
  const std::string& path() const override { return path_; }
  uint64_t releases() const { return releases_; }
  uint64_t reads() const { return reads_; }
  uint64_t bytes_read() const { return bytes_read_; }

 private:
  const std::string content_;
  const std::string path_ = "memory";
  mutable std::atomic<uint64_t> releases_ = 0;
  mutable std::atomic<uint64_t> reads_ = 0;
  mutable std::atomic<uint64_t> bytes_read_ = 0;
};

// Checking a false header takes a few bytes far after it, and so does checking the next one. To
// unmap and map those pages each time would cost more than everything else.
TEST(RecordScan, LiesDoNotMakePagesComeAndGo) {
  std::string lies;
  for (size_t i = 0; i < 300'000; ++i) lies += header_of(uint64_t{2} << 20);
  const CountingFile file(lies);
  RecordScanner serial(file);
  while (serial.next()) {
  }
  ParallelRecordScanner parallel(file, {.threads = 2});
  while (parallel.next()) {
  }
  EXPECT_GT(file.releases(), 10u);
  EXPECT_LT(file.releases(), 1000u);
  EXPECT_LT(file.bytes_read(), 10 * lies.size());
}

// Intact and damaged records of a few KB alternate. The data read for one is reused for the next.
TEST(RecordScan, ReadsTheWindowsOfADamagedFileOnce) {
  std::string content;
  for (size_t i = 0; i < 500; ++i) {
    std::string record = framed({std::string(4000, static_cast<char>('a' + i % 26))});
    if (i % 2 == 1) record[2000] ^= 1;
    content += record;
  }
  const CountingFile file(content);
  RecordScanner serial(file);
  while (serial.next()) {
  }
  ParallelRecordScanner parallel(file, {.threads = 2});
  while (parallel.next()) {
  }
  EXPECT_LT(file.bytes_read(), 4 * content.size());
}

// The thread that scans a chunk reads beyond the chunk's end: the rest of a record, and garbage.
TEST(RecordScan, ReadsBehindAChunkInPieces) {
  const std::string garbage(2'000'000, 'x');
  for (const std::string& content :
       {framed(std::vector<std::string>(30, std::string(300'000, 'a'))),
        framed({std::string(3000, 'a')}) + garbage, framed({""}) + garbage + framed({"b"})}) {
    const CountingFile file(content);
    ParallelRecordScanner scanner(file, {.threads = 2, .chunk_size = uint64_t{1} << 20});
    while (scanner.next()) {
    }
    EXPECT_LT(file.bytes_read(), 4 * content.size());
    EXPECT_LT(file.reads(), content.size() / 5000);
  }
}

// After many false headers, a scan checks longer records in another way.
TEST(RecordScan, RecordsBetweenLiesOfAWindowsSizeAreFound) {
  std::string lies;
  while (lies.size() < 2'000'000) lies += framed({""}) + header_of(200'000);
  const Scan serial = scan_mapped(lies).scan;
  EXPECT_EQ(serial.records.size(), lies.size() / 28);
  EXPECT_EQ(scan_stream(lies).scan, serial);
  EXPECT_EQ(scan_in_parallel(lies, 2, 1 << 20).scan, serial);
}

// Records are read through windows; a record may cross a window, fill it, or exceed it.
TEST(RecordScan, RecordsOfAllSizesAroundAWindowAreFound) {
  constexpr size_t kWindow = FileScanInput::kWindow;
  std::vector<std::string> records;
  for (const size_t size : {size_t{0}, size_t{3000}, kWindow - 3017, kWindow - 17, kWindow - 16,
                            kWindow - 15, size_t{1}, kWindow, kWindow + 1, size_t{100'000},
                            size_t{200'000}, 3 * kWindow, size_t{5}, size_t{150'000}}) {
    records.emplace_back(size, static_cast<char>('a' + records.size()));
  }
  std::string content = framed(records);
  for (const bool is_damaged : {false, true}) {
    if (is_damaged) content[content.size() / 2] ^= 1;
    const ScanWithReasons stream = scan_stream(content);
    EXPECT_EQ(stream.scan.records.size(), records.size() - (is_damaged ? 1 : 0));
    EXPECT_EQ(scan_mapped(content).scan, stream.scan);
    for (const uint64_t chunk_size : {50'000, 300'000, 700'000, 10'000'000}) {
      EXPECT_EQ(scan_in_parallel(content, 2, chunk_size).scan, stream.scan) << chunk_size;
    }
  }
}

TEST(RecordScan, StopsWhereAskedTo) {
  TemporaryDirectory directory;
  write_file(directory / "a", framed(kThree));
  const auto file = posix_file_system().map(directory / "a");
  std::stop_source source;
  source.request_stop();
  EXPECT_EQ(error_of([&] { RecordScanner(*file, source.get_token()).next(); }).kind(),
            ErrorKind::cancelled);
  ParallelRecordScanner parallel(*file, {.stop = source.get_token()});
  EXPECT_EQ(error_of([&] { parallel.next(); }).kind(), ErrorKind::cancelled);
}

TEST(RecordScan, AFileThatWasCutIsDamagedBehindTheCut) {
  TemporaryDirectory directory;
  const std::string path = directory / "a";
  const std::string content = framed(std::vector<std::string>(100, std::string(1000, 'x')));
  write_file(path, content);
  const auto mapped = posix_file_system().map(path);
  const auto random = posix_file_system().open_random(path);
  std::filesystem::resize_file(path, 50 * 1016);
  for (const RandomAccessFile* file :
       {static_cast<RandomAccessFile*>(mapped.get()), random.get()}) {
    const ScanWithReasons result = scan_in_parallel(*file, content, 2, 1 << 20);
    EXPECT_EQ(result, scan_serially(*file));
    EXPECT_EQ(result.scan.records.size(), 50u);
    ASSERT_EQ(result.damage.size(), 1u);
    EXPECT_EQ(result.damage[0].begin, 50u * 1016);
    EXPECT_EQ(result.damage[0].end, 100u * 1016);
    EXPECT_THAT(result.damage[0].reason, HasSubstr("the file was truncated"));
  }
}

TEST(RecordScan, AFileThatWasCutIsAnErrorIfTheScannerOwnsIt) {
  TemporaryDirectory directory;
  const std::string path = directory / "a";
  write_file(path, framed(std::vector<std::string>(100, std::string(1000, 'x'))));
  RecordScanner scanner(posix_file_system().map(path));
  EXPECT_TRUE(scanner.next());
  std::filesystem::resize_file(path, 50 * 1016);
  const auto scan_rest = [&] {
    while (scanner.next()) {
    }
  };
  EXPECT_EQ(error_of(scan_rest).kind(), ErrorKind::truncated);
  EXPECT_EQ(error_of(scan_rest).kind(), ErrorKind::truncated);
}

std::optional<ErrorKind> scan_error(const RandomAccessFile& file) {
  try {
    scan_serially(file);
  } catch (const Error& error) {
    return error.kind();
  }
  return std::nullopt;
}

// On each read in turn, the device fails or the file is truncated.
TEST(RecordScan, AFileThatCannotBeReadOnIsAnErrorAndACutOneDamage) {
  std::vector<std::string> records;
  for (size_t i = 0; i < 40; ++i) records.emplace_back(i % 7 == 3 ? 300'000 : 5'000, 'x');
  std::string content = framed(records);
  content[100'000] ^= 1;
  for (uint64_t n = 1;; ++n) {
    SCOPED_TRACE(n);
    const UnstableFile failing(content, "memory", {.at_read = n, .fails = true});
    ParallelRecordScanner scanner(failing, {.threads = 2, .chunk_size = 100'000});
    try {
      while (scanner.next()) {
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::io);
      EXPECT_THROW(scanner.next(), Error);
    }
    const UnstableFile failing_serially(content, "memory", {.at_read = n, .fails = true});
    const auto failure = scan_error(failing_serially);
    EXPECT_EQ(failure == ErrorKind::io, failing_serially.reads() >= n);
    const UnstableFile cut(content, "memory", {.at_read = n, .cut_to = 400'000});
    const ScanWithReasons result = scan_serially(cut);
    uint64_t end = result.scan.records.back().second;
    if (!result.damage.empty()) end = std::max(end, result.damage.back().end);
    EXPECT_EQ(end, content.size());
    if (failing.reads() < n || HasFailure()) break;
  }
}

}  // namespace
}  // namespace recordpipe
