// Tests what tfrecord_files leaves out of damaged files (OnDamage), beside naive readers.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/pipeline/list_files.h"
#include "recordpipe/pipeline/tfrecord_files.h"
#include "recordpipe/record/record_format.h"
#include "recordpipe/record/record_writer.h"
#include "tests/pipeline/collect.h"
#include "tests/pipeline/resume.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"
#include "tests/support/framed_records.h"
#include "tests/support/mutator.h"
#include "tests/support/scan_comparison.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

using ::testing::HasSubstr;

constexpr OnDamage kLeavesOut[] = {OnDamage::skip_file, OnDamage::resync};

// What is left of files, and what is left out.
struct Kept {
  std::vector<std::string> records = {};
  uint64_t files = 0;
  uint64_t regions = 0;
  uint64_t bytes = 0;

  bool operator==(const Kept&) const = default;
  void add(const Kept& other) {
    records.insert(records.end(), other.records.begin(), other.records.end());
    files += other.regions > 0 ? 1 : 0;
    regions += other.regions;
    bytes += other.bytes;
  }
};

void PrintTo(const Kept& kept, std::ostream* out) {
  *out << kept.records.size() << " records, " << kept.files << " files, " << kept.regions
       << " regions, " << kept.bytes << " bytes";
}

Kept resync_naively(const std::string& content) {
  Kept kept;
  const Scan scan = scan_naively(content);
  for (const auto& [begin, end] : scan.records) {
    kept.records.push_back(
        content.substr(begin + kRecordHeaderSize, end - begin - kRecordOverhead));
  }
  kept.regions = scan.regions.size();
  for (const auto& [begin, end] : scan.regions) kept.bytes += end - begin;
  return kept;
}

Kept skip_naively(const std::string& content) {
  Kept kept;
  bool is_damaged = false;
  const auto leave_out = [&](uint64_t size) {
    kept.bytes += size;
    kept.regions += is_damaged ? 0 : 1;
    is_damaged = true;
  };
  auto rest = as_bytes(content);
  while (!rest.empty()) {
    const auto length = rest.size() < kRecordOverhead
                            ? std::nullopt
                            : decode_record_header(rest.first<kRecordHeaderSize>());
    if (!length || *length > rest.size() - kRecordOverhead) {
      leave_out(rest.size());
      break;
    }
    const auto data = rest.subspan(kRecordHeaderSize, *length);
    const auto footer = rest.subspan(kRecordHeaderSize + *length).first<kRecordFooterSize>();
    if (record_footer_matches(footer, data)) {
      kept.records.push_back(as_text(data));
      is_damaged = false;
    } else {
      leave_out(*length + kRecordOverhead);
    }
    rest = rest.subspan(*length + kRecordOverhead);
  }
  return kept;
}

Kept read_naively(const std::string& content, OnDamage on_damage) {
  return on_damage == OnDamage::resync ? resync_naively(content) : skip_naively(content);
}

Dataset<std::string> texts(const Dataset<Record>& records) {
  return records.map([](const Record& record) { return as_text(record.data); });
}

Kept read(const Dataset<std::string>& records) {
  auto iterator = records.iterate();
  Kept kept;
  kept.records = rest_of(iterator);
  const SkippedReport report = iterator.skipped();
  kept.files = report.damaged_files;
  kept.regions = report.damage.regions;
  kept.bytes = report.damage.bytes;
  return kept;
}

std::string flipped(std::string content, size_t at) {
  content[at] = static_cast<char>(content[at] ^ 1);
  return content;
}

class DamagedFiles : public ::testing::Test {
 protected:
  // Writes a file with the content, compressed if it is to be.
  std::string write(const std::string& name, const std::string& content,
                    Compression compression = Compression::none) {
    const std::string path = directory_ / name;
    RecordWriter writer(posix_file_system(), path, {.compression = compression});
    writer.write_framed(as_bytes(content), 1);
    writer.close();
    return path;
  }

  TemporaryDirectory directory_;
};

// Records of 22, 23, 24 bytes, and so on.
std::string ten_records(int file) {
  std::vector<std::string> records;
  for (int i = 0; i < 10; ++i) {
    records.push_back("r" + std::to_string(file) + "." + std::to_string(i) +
                      std::string(static_cast<size_t>(2 + i), '-'));
  }
  return framed(records);
}

uint64_t begin_of(int record) {
  uint64_t begin = 0;
  for (int i = 0; i < record; ++i) begin += 22 + static_cast<uint64_t>(i);
  return begin;
}

std::vector<std::string> damaged_contents() {
  const std::string intact = ten_records(1);
  std::vector<std::string> contents = {intact + std::string(100, '\0'), intact + "garbage", "x",
                                       std::string(50, '\0'), flipped(intact, begin_of(3) + 13)};
  for (const int record : {0, 4, 9}) {
    const uint64_t begin = begin_of(record);
    // In the length, its CRC, the data, its CRC.
    for (const uint64_t byte : {0, 9, 14}) contents.push_back(flipped(intact, begin + byte));
    contents.push_back(flipped(intact, begin_of(record + 1) - 1));
    contents.push_back(intact.substr(0, begin + 5));
    contents.push_back(intact.substr(0, begin + 15));
    contents.push_back(intact.substr(0, begin) + "inserted" + intact.substr(begin));
  }
  contents.push_back(flipped(flipped(intact, begin_of(4) + 14), begin_of(5) + 14));
  contents.push_back(flipped(flipped(intact, begin_of(4) + 14), begin_of(5)));
  return contents;
}

TEST_F(DamagedFiles, AreWhatNaiveReadersKeep) {
  for (const Compression compression :
       {Compression::none, Compression::gzip, Compression::zlib, Compression::zstd}) {
    size_t number = 0;
    for (const std::string& damaged : damaged_contents()) {
      for (const size_t place : {0, 1, 2}) {
        std::vector<std::string> contents = {ten_records(0), ten_records(2)};
        contents.insert(contents.begin() + static_cast<std::ptrdiff_t>(place), damaged);
        std::vector<std::string> paths;
        for (const std::string& content : contents) {
          paths.push_back(write(std::to_string(paths.size()), content, compression));
        }
        for (const OnDamage on_damage : kLeavesOut) {
          Kept expected;
          for (const std::string& content : contents) {
            expected.add(read_naively(content, on_damage));
          }
          const auto records =
              texts(tfrecord_files(paths, {.compression = compression}, {on_damage}));
          constexpr size_t kThreads[] = {1, 0, 4};
          const size_t threads = kThreads[(number + place) % 3];
          EXPECT_EQ(read(records.with_options({.threads = threads})), expected)
              << to_string(compression) << ", " << to_string(on_damage) << ", content " << number
              << " in file " << place << ", " << threads << " threads";
        }
      }
      ++number;
    }
  }
}

TEST_F(DamagedFiles, ResyncFindsTheNextPartOfACompressedStream) {
  for (const Compression compression : {Compression::gzip, Compression::zstd}) {
    std::vector<std::string> parts;
    for (const int part : {0, 1, 2}) {
      parts.push_back(read_file(write(std::to_string(part), ten_records(part), compression)));
    }
    std::string damaged = parts[1];
    damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 0x55);
    const std::string path = directory_ / "all";
    write_file(path, parts[0] + damaged + parts[2]);
    const std::vector<std::string> paths = {path, write("last", ten_records(3))};

    const auto first = skip_naively(ten_records(0)).records;
    const auto third = skip_naively(ten_records(2)).records;
    const auto last = skip_naively(ten_records(3)).records;
    for (const size_t threads : {1, 4}) {
      for (const OnDamage on_damage : kLeavesOut) {
        auto iterator = texts(tfrecord_files(paths, {}, {on_damage}))
                            .with_options({.threads = threads})
                            .iterate();
        const std::vector<std::string> records = rest_of(iterator);
        ASSERT_GE(records.size(), 20u);
        EXPECT_TRUE(std::equal(first.begin(), first.end(), records.begin()));
        EXPECT_TRUE(std::equal(last.begin(), last.end(), records.end() - 10));
        EXPECT_EQ(std::ranges::search(records, third).size() == 10, on_damage == OnDamage::resync);
        EXPECT_EQ(iterator.skipped().damaged_files, 1u);
        EXPECT_GE(iterator.skipped().damage.regions, 1u);
      }
    }
  }
}

// A compressed file is cut anywhere: the records before are read, then the next file.
TEST_F(DamagedFiles, CutCompressedFiles) {
  for (const Compression compression : {Compression::gzip, Compression::zlib, Compression::zstd}) {
    const std::string whole = read_file(write("whole", ten_records(0), compression));
    const std::string next = write("next", ten_records(1));
    const auto all = skip_naively(ten_records(0)).records;
    for (size_t size = 1; size < whole.size(); ++size) {
      write_file(directory_ / "cut", whole.substr(0, size));
      for (const OnDamage on_damage : kLeavesOut) {
        const auto records = texts(tfrecord_files({directory_ / "cut", next}, {}, {on_damage}));
        const Kept kept = read(records.with_options({.threads = 1}));
        ASSERT_GE(kept.records.size(), 10u) << size;
        const std::vector<std::string> begin(kept.records.begin(), kept.records.end() - 10);
        ASSERT_TRUE(std::equal(begin.begin(), begin.end(), all.begin())) << size;
        ASSERT_EQ(kept.files, 1u) << to_string(compression) << size;
      }
    }
  }
}

// Anything in a row, and every position of it as a state.
TEST_F(DamagedFiles, RandomDamageBehindOperators) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Mutator mutator(seed);
    std::vector<std::string> paths;
    std::vector<std::string> contents;
    const OnDamage on_damage = kLeavesOut[mutator.below(2)];
    Kept expected;
    for (int file = 0; file < 4; ++file) {
      std::string content = ten_records(file);
      if (mutator.below(3) > 0) content = mutator.mutate(content, ten_records(9));
      const Compression compression = mutator.below(2) == 0 ? Compression::none : Compression::gzip;
      contents.push_back(content);
      paths.push_back(write(std::to_string(file), content, compression));
      expected.add(read_naively(content, on_damage));
    }
    const auto records = texts(tfrecord_files(paths, {}, {on_damage}));
    ASSERT_EQ(read(records.with_options({.threads = 4, .chunk_size = 3})), expected) << seed;
    ASSERT_EQ(read(records.repeat(2).prefetch(3)).regions, expected.regions) << seed;
    expect_resumes_anywhere(records, on_any_machine(records));

    Kept rest = expected;
    rest.records.erase(rest.records.begin(),
                       rest.records.begin() +
                           static_cast<std::ptrdiff_t>(std::min<size_t>(7, rest.records.size())));
    ASSERT_EQ(read(records.skip(7)), rest) << seed;
    for (const uint64_t worker : {0, 1, 2}) {
      Kept share = expected;
      share.records.clear();
      for (size_t i = worker; i < expected.records.size(); i += 3) {
        share.records.push_back(expected.records[i]);
      }
      ASSERT_EQ(read(records.shard(3, worker)), share) << seed;
    }

    const auto open = [on_damage](std::string path) {
      return texts(tfrecord_files({std::move(path)}, {}, {on_damage}));
    };
    const auto mixed = list_files(paths).interleave(open, 3, 2);
    Kept in_turn = read(mixed.with_options({.threads = 3}));
    expect_resumes_anywhere(mixed, on_any_machine(mixed), 5);
    std::ranges::sort(in_turn.records);
    std::ranges::sort(expected.records);
    ASSERT_EQ(in_turn, expected) << seed;
  }
}

// A file that is read twice is damaged twice, except where a pass opens it anew.
TEST_F(DamagedFiles, EachSourceCountsWhatItLeavesOut) {
  const std::string content = flipped(ten_records(0), begin_of(4) + 14);
  const std::string path = write("a", content);
  for (const OnDamage on_damage : kLeavesOut) {
    const auto open = [on_damage](std::vector<std::string> paths) {
      return texts(tfrecord_files(std::move(paths), {}, {on_damage}));
    };
    Kept expected;
    for (int i = 0; i < 2; ++i) expected.add(read_naively(content, on_damage));
    expected.files = 1;
    const auto once = open({path});
    for (const auto& twice : {once.concatenate(once), open({path, path})}) {
      EXPECT_EQ(read(twice), expected);
      EXPECT_EQ(read(twice.repeat(3)).bytes, expected.bytes);
    }
    const auto opened =
        list_files({path, path})
            .interleave([open](std::string file) { return open({std::move(file)}); }, 2, 1);
    EXPECT_EQ(read(opened.repeat(2)).bytes, expected.bytes / 2);
  }
}

TEST_F(DamagedFiles, ErrorsNameTheOption) {
  const std::string intact = ten_records(0);
  const std::string way_out =
      "pass OnDamage::skip_file or OnDamage::resync to tfrecord_files to go on)";
  for (const Compression compression : {Compression::none, Compression::gzip}) {
    const auto data = tfrecord_files({write("a", flipped(intact, 14), compression)});
    EXPECT_THAT(error_of([&] { collect(data); }).what(), HasSubstr(way_out));
    EXPECT_EQ(collect(data.skip(1)).size(), 9u);
    for (const std::string& damaged : {flipped(intact, 0), intact.substr(0, 100)}) {
      const auto framing = tfrecord_files({write("b", damaged, compression)});
      EXPECT_THAT(error_of([&] { collect(framing); }).what(), HasSubstr(way_out));
      EXPECT_THAT(error_of([&] { collect(framing.skip(9)); }).what(), HasSubstr(way_out));
    }
  }
  const auto without = tfrecord_files({write("a", flipped(intact, 14))}, {}, {.remedy = {}});
  EXPECT_THAT(error_of([&] { collect(without); }).what(), ::testing::Not(HasSubstr("OnDamage")));
}

TEST_F(DamagedFiles, AreRefusedWhereTheyCantBeRead) {
  const std::string path = write("a", ten_records(0));
  for (const OnDamage on_damage : kLeavesOut) {
    const auto records = tfrecord_files({path}, {}, {on_damage});
    EXPECT_EQ(records.cardinality(), kUnknownCardinality);
    EXPECT_EQ(error_of([&] { (void)records.global_shuffle(1); }).kind(), ErrorKind::unsupported);
    EXPECT_EQ(
        error_of([&] { tfrecord_files({path}, {.crc = CrcCheck::never}, {on_damage}); }).kind(),
        ErrorKind::invalid_argument);
    // A missing file is no damage.
    const std::string other = write("b", ten_records(1));
    const auto missing = tfrecord_files({path, other}, {}, {on_damage});
    std::filesystem::remove(other);
    auto iterator = missing.iterate();
    for (int i = 0; i < 10; ++i) ASSERT_NE(iterator.next(), nullptr);
    EXPECT_EQ(error_of([&] { iterator.next(); }).kind(), ErrorKind::not_found);
    // A state of one mode is none of another.
    auto saved = records.iterate();
    saved.next();
    EXPECT_EQ(error_of([&] { tfrecord_files({path}).iterate().restore(saved.state()); }).kind(),
              ErrorKind::invalid_argument);
  }
}

// Records longer than what is read at a time, of which one is damaged.
TEST_F(DamagedFiles, LongRecords) {
  std::vector<std::string> records;
  for (int i = 0; i < 5; ++i) records.emplace_back(700'000 + i, static_cast<char>('a' + i));
  const std::string intact = framed(records);
  const uint64_t second = 700'000 + kRecordOverhead;
  for (const uint64_t at : {second + 3, second + 400'000}) {
    const std::string content = flipped(intact, at);
    for (const Compression compression : {Compression::none, Compression::gzip}) {
      const std::string path = write("a", content, compression);
      for (const OnDamage on_damage : kLeavesOut) {
        Kept expected;
        expected.add(read_naively(content, on_damage));
        EXPECT_EQ(read(texts(tfrecord_files({path}, {}, {on_damage}))), expected);
      }
    }
  }
}

}  // namespace
}  // namespace recordpipe
