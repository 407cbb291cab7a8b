// Tests scans of plain and compressed streams: the records found after damage, and that scans end.
#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/io/compression.h"
#include "recordpipe/record/record_scanner.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"
#include "tests/support/framed_records.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

RecordScanner scan_of(std::string bytes, RecordReadOptions reading = {}) {
  return RecordScanner(std::make_unique<MemorySource>(std::move(bytes)), reading);
}

// Returns the steps of a scan as text: "first" for a record, "[begin, end) reason" for damage.
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
    EXPECT_THAT(steps_of(scan_of(compressed(content, format))),
                ElementsAre("first", "[21, 67) length CRC mismatch: corrupted record", "third"));
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

// Bytes are missing, so that a stored block includes the start of the next member.
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
        // The records come in order, each at most once.
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

// A member that begins right after zeros is found, too.
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

// A record spans both members, whose content is intact: only a trailer is damaged.
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
    // The first member ends inside record 9; the third begins inside record 19.
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
    // The missing records are whole ones, so that the damaged region is empty.
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

// Like /dev/zero. A scan must end nevertheless.
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
                ElementsAre(HasSubstr("[0, 1048576) length CRC mismatch")));
  }
}

TEST(RecordScanStream, WantsCrcs) {
  EXPECT_EQ(error_of([] { scan_of("", {.crc = CrcCheck::never}); }).kind(),
            ErrorKind::invalid_argument);
}

}  // namespace
}  // namespace recordpipe
