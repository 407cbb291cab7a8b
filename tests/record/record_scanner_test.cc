// Scans for intact records: what is found, what is called damage, and why; by one thread and by
// many, mapped and streamed.
#include "dataset/record/record_scanner.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataset/base/endian.h"
#include "dataset/checksum/crc32c.h"
#include "dataset/io/compression.h"
#include "dataset/record/parallel_record_scanner.h"
#include "dataset/record/record_format.h"
#include "dataset/record/record_writer.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"
#include "tests/support/scan_comparison.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string framed(const std::vector<std::string>& records) {
  std::string out;
  for (const std::string& record : records) append_framed(as_bytes(record), out);
  return out;
}

std::string header_of(uint64_t length) { return as_text(encode_record_header(length)); }

std::string random_text(std::mt19937_64& random, size_t size) {
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

// The only region of `content`, which all scans agree on.
DamagedRegion only_region(const std::string& content) {
  EXPECT_EQ(compare_scans(content), "");
  const ScanWithReasons result = scan_mapped(content);
  EXPECT_EQ(result.damage.size(), 1u);
  return result.damage.empty() ? DamagedRegion{} : result.damage.front();
}

size_t intact(const std::string& content) { return scan_mapped(content).scan.records.size(); }

const std::vector<std::string> kThree = {"first", std::string(30, 'z'), "third"};
constexpr uint64_t kSecond = 21;
constexpr uint64_t kThird = 67;
constexpr uint64_t kEnd = 88;

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

// The cases of broken records, each after an intact one and before another.
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
  EXPECT_EQ(reason(record), "the length's CRC does not fit: corrupted record");
  record = framed({"record"});
  record[12] ^= 1;
  EXPECT_EQ(reason(record), "the data's CRC does not fit: corrupted record");
  record = framed({"record"});
  store_little_endian(crc32c(as_bytes("record")), reinterpret_cast<std::byte*>(&record[18]));
  EXPECT_EQ(reason(record), "the data's CRC is not masked: corrupted record");
  record = framed({"record"});
  store_little_endian(crc32c(as_bytes(record.substr(0, 8))),
                      reinterpret_cast<std::byte*>(&record[8]));
  EXPECT_EQ(reason(record), "the length's CRC is not masked: corrupted record");
  EXPECT_EQ(reason(header_of(1 << 20) + "data"),
            "the length reaches beyond the end of the file: corrupted record");
  EXPECT_EQ(reason(header_of(UINT64_MAX) + "data"),
            "a length of 18446744073709551615 bytes, more than any file has: corrupted record");
  EXPECT_EQ(reason(std::string(50, '\0')), "the length's CRC does not fit: corrupted record");
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

// Small alphabets of parts, put together at random: all scans agree on all of them.
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
          content += header_of(random() % 3000);  // a lie, most often
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

// Every twelve bytes a header whose CRC fits and whose length reaches far: trying each by itself
// would read 500 GB.
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

// The same with a record after each lie: the walk goes on after each of them.
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
  void release(uint64_t, uint64_t) const override { ++releases_; }
  const std::string& path() const override { return path_; }
  uint64_t releases() const { return releases_; }

 private:
  const std::string content_;
  const std::string path_ = "memory";
  mutable std::atomic<uint64_t> releases_ = 0;
};

// Each of them wants a few bytes far behind it, which the next one wants, too: to give them back
// and to fetch them again costs more than all else.
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
}

RecordScanner scan_of(std::string bytes, RecordReadOptions reading = {}) {
  return RecordScanner(std::make_unique<MemorySource>(std::move(bytes)), reading);
}

// Steps as text: "first", or "[begin, end) reason".
std::vector<std::string> steps_of(RecordScanner scanner) {
  std::vector<std::string> steps;
  while (const auto step = scanner.next()) {
    if (const auto* record = std::get_if<Record>(&*step)) {
      steps.push_back(as_text(record->data));
    } else {
      const auto& region = std::get<DamagedRegion>(*step);
      steps.push_back("[" + std::to_string(region.begin) + ", " + std::to_string(region.end) +
                      ") " + region.reason);
    }
  }
  EXPECT_FALSE(scanner.next());
  return steps;
}

std::string compressed(const std::string& content, Compression format) {
  MemorySink sink;
  const auto deflater = deflate(sink, {format});
  deflater->write(as_bytes(content));
  deflater->close();
  return sink.content;
}

TEST(RecordScanStream, CompressedContentIsScanned) {
  std::string content = framed(kThree);
  content[kSecond + 3] ^= 1;
  for (const Compression format : {Compression::gzip, Compression::zlib, Compression::zstd}) {
    EXPECT_THAT(
        steps_of(scan_of(compressed(content, format))),
        ElementsAre("first", "[21, 67) the length's CRC does not fit: corrupted record", "third"));
  }
}

TEST(RecordScanStream, ACutStreamEndsTheContent) {
  std::mt19937_64 random(5);
  std::vector<std::string> records;
  for (int i = 0; i < 50; ++i) records.push_back(random_text(random, 1000));
  const std::string whole = compressed(framed(records), Compression::gzip);
  for (const size_t size : {whole.size() - 1, whole.size() - 8, whole.size() / 2, size_t{20}}) {
    const auto steps = steps_of(scan_of(whole.substr(0, size)));
    ASSERT_FALSE(steps.empty());
    EXPECT_THAT(steps.back(), HasSubstr("of the file"));
    for (size_t i = 0; i + 1 < steps.size(); ++i) EXPECT_EQ(steps[i], records[i]);
    if (size > whole.size() / 2) {
      EXPECT_EQ(steps.size(), 51u);
    }
  }
}

TEST(RecordScanStream, ADamagedTrailerIsARegionOfNoBytes) {
  std::string whole = compressed(framed({"a"}), Compression::gzip);
  whole[whole.size() - 8] ^= 1;
  const auto steps = steps_of(scan_of(whole));
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0], "a");
  EXPECT_THAT(steps[1], HasSubstr("[17, 17) "));
}

// Bytes are missing, and the stored block takes the start of the next member for its own.
TEST(RecordScanStream, NoRecordComesTwice) {
  std::mt19937_64 random(8);
  std::vector<std::string> records;
  for (int i = 0; i < 1200; ++i) records.push_back(random_text(random, 500));
  for (const DeflateOptions& options :
       {DeflateOptions{Compression::gzip, 0}, DeflateOptions{Compression::gzip, 6},
        DeflateOptions{Compression::zstd, 1}}) {
    std::string stream;
    for (int i = 0; i < 1200; i += 300) {
      MemorySink sink;
      const auto deflater = deflate(sink, options);
      deflater->write(as_bytes(framed({records.begin() + i, records.begin() + i + 300})));
      deflater->close();
      stream += sink.content;
    }
    for (const size_t cut : {1000, 4096, 20000, 65536}) {
      for (const size_t at :
           {stream.size() / 4 - 3000, stream.size() / 8, stream.size() / 2 - 10}) {
        std::string left = stream;
        left.erase(at, cut);
        auto steps = steps_of(scan_of(left));
        std::erase_if(steps, [](const std::string& step) { return step.size() != 500; });
        // In order, each at most once.
        auto next = records.begin();
        for (const std::string& step : steps) {
          next = std::find(next, records.end(), step);
          ASSERT_NE(next, records.end()) << cut << " at " << at;
          ++next;
        }
        EXPECT_GT(steps.size(), 400u) << cut << " at " << at;
      }
    }
  }
}

// Not even one that begins right behind zeros.
TEST(RecordScanStream, NoMemberBehindZerosIsLost) {
  for (const Compression format : {Compression::gzip, Compression::zstd}) {
    const auto steps =
        steps_of(scan_of(compressed(framed({"a"}), format) + std::string(512, '\0') +
                         compressed(framed({"b"}), format) + compressed(framed({"c"}), format)));
    ASSERT_EQ(steps.size(), 4u);
    EXPECT_EQ(steps[2], "b");
    EXPECT_EQ(steps[3], "c");
  }
}

// A record lies in both members, and their content is whole: only a trailer says otherwise.
TEST(RecordScanStream, ARecordAcrossADamagedTrailerIsKept) {
  const std::string content = framed({"first", std::string(300, 'z'), "third"});
  std::string stream = compressed(content.substr(0, 100), Compression::gzip);
  stream[stream.size() - 8] ^= 1;
  stream += compressed(content.substr(100), Compression::gzip);
  const auto steps = steps_of(scan_of(stream));
  ASSERT_EQ(steps.size(), 4u);
  EXPECT_EQ(steps[1], std::string(300, 'z'));
  EXPECT_THAT(steps[2], HasSubstr("damaged gzip stream (incorrect data check) at "));
  EXPECT_EQ(steps[3], "third");
}

TEST(RecordScanStream, MembersBehindADamagedOneAreScanned) {
  std::mt19937_64 random(6);
  for (const Compression format : {Compression::gzip, Compression::zstd}) {
    std::vector<std::string> records;
    for (int i = 0; i < 30; ++i) records.push_back(random_text(random, 100));
    const std::string content = framed(records);
    // Records 0 to 9 lie in the first member or across its end, 20 to 29 in the third or so.
    const std::string before = compressed(content.substr(0, 10 * 116 - 50), format);
    const std::string middle = compressed(content.substr(10 * 116 - 50, 10 * 116), format);
    const std::string after = compressed(content.substr(20 * 116 - 50), format);
    for (size_t at = 0; at < middle.size(); at += 7) {
      std::string damaged = middle;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x5a);
      const auto steps = steps_of(scan_of(before + damaged + after));
      EXPECT_TRUE(std::equal(records.begin(), records.begin() + 9, steps.begin())) << at;
      EXPECT_TRUE(std::equal(records.end() - 10, records.end(), steps.end() - 10)) << at;
    }
    // Whole records are missing, and nothing that is left shows it but the gap.
    const std::string first = compressed(content.substr(0, 10 * 116), format);
    const std::string third = compressed(content.substr(20 * 116), format);
    const auto steps = steps_of(scan_of(first + middle.substr(0, 3) + third));
    ASSERT_EQ(steps.size(), 21u);
    EXPECT_THAT(steps[10], HasSubstr("[1160, 1160) "));
    EXPECT_EQ(steps[11], records[20]);
  }
}

TEST(RecordScanStream, ComesInAnyPieces) {
  std::string content = framed({"a", std::string(3000, 'b'), "c"});
  content[40] ^= 1;
  EXPECT_EQ(steps_of(RecordScanner(std::make_unique<TrickleSource>(content))),
            steps_of(scan_of(content)));
}

TEST(RecordScanStream, LengthsBeyondTheCapAreDamage) {
  const std::string content = framed({"a", std::string(200, 'b'), "c"});
  EXPECT_THAT(steps_of(scan_of(content, {.max_record_size = 1000})).size(), 3u);
  EXPECT_THAT(
      steps_of(scan_of(content, {.max_record_size = 199})).back(),
      HasSubstr("a length of 200 bytes, more than the 199 allowed: corrupted record, and no "
                "intact record in 199 bytes: given up"));
}

// As /dev/zero is: it has to end all the same.
class EndlessSource final : public ByteSource {
 public:
  explicit EndlessSource(char byte) : byte_(byte) {}
  size_t read(std::span<std::byte> out) override {
    std::ranges::fill(out, static_cast<std::byte>(byte_));
    return out.size();
  }
  const std::string& path() const override { return path_; }

 private:
  const char byte_;
  const std::string path_ = "endless";
};

TEST(RecordScanStream, AnEndlessOneIsGivenUp) {
  for (const char byte : {'\0', 'x'}) {
    EXPECT_THAT(steps_of(RecordScanner(std::make_unique<EndlessSource>(byte),
                                       {.max_record_size = 1 << 20})),
                ElementsAre(HasSubstr("[0, 1048576) the length's CRC does not fit")));
  }
}

TEST(RecordScanStream, WantsCrcs) {
  EXPECT_EQ(error_of([] { scan_of("", {.crc = CrcCheck::never}); }).kind(),
            ErrorKind::invalid_argument);
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
  write_file(path, framed(std::vector<std::string>(100, std::string(1000, 'x'))));
  const auto file = posix_file_system().map(path);
  std::filesystem::resize_file(path, 50 * 1016);
  ParallelRecordScanner scanner(*file);
  uint64_t records = 0;
  std::vector<DamagedRegion> regions;
  while (const auto stretch = scanner.next()) {
    if (const auto* found = std::get_if<IntactRecords>(&*stretch)) {
      records += found->records;
    } else {
      regions.push_back(std::get<DamagedRegion>(*stretch));
    }
  }
  EXPECT_EQ(records, 50u);
  ASSERT_EQ(regions.size(), 1u);
  EXPECT_EQ(regions[0].begin, 50u * 1016);
  EXPECT_EQ(regions[0].end, 100u * 1016);
  EXPECT_THAT(regions[0].reason, HasSubstr("the file was cut short"));
}

}  // namespace
}  // namespace recordpipe
