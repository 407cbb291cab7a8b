// Tests that a bad record is skipped and that no other record changes its position.
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/io/compression.h"
#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/pipeline/from_vector.h"
#include "recordpipe/pipeline/tfrecord_files.h"
#include "recordpipe/record/record_writer.h"
#include "tests/pipeline/collect.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

using testing::HasSubstr;

bool is_bad(int x) { return x % 10 == 3; }

int check(int x) {
  if (is_bad(x)) {
    throw Error({.kind = ErrorKind::corrupted,
                 .path = "numbers",
                 .offset = static_cast<uint64_t>(x),
                 .reason = "ends with a 3"});
  }
  return x;
}

class IgnoreErrors : public ::testing::TestWithParam<PipelineOptions> {
 protected:
  Dataset<int> source(int n = 500) const {
    return from_vector(numbers(n)).with_options(GetParam());
  }
};

TEST_P(IgnoreErrors, MovesNoOtherElement) {
  const auto draw = [](int x, Random& random) { return std::pair(x, random()); };
  const auto all = [](int) { return true; };
  const auto good = [](const auto& pair) { return !is_bad(pair.first); };
  const auto expected = collect(source().shuffle(50, 1).map_with_random(2, draw).filter(good));
  ASSERT_EQ(expected.size(), 450u);
  const auto bad = source().map(check);
  EXPECT_EQ(collect(bad.shuffle(50, 1).ignore_errors().map_with_random(2, draw)), expected);
  EXPECT_EQ(collect(bad.filter(all).shuffle(50, 1).map_with_random(2, draw).ignore_errors()),
            expected);
  EXPECT_EQ(collect(bad.prefetch(4).shuffle(50, 1).map_with_random(2, draw).ignore_errors()),
            expected);
}

TEST_P(IgnoreErrors, LeavesOutABatchWithABadRow) {
  const auto out = collect(source(40).map(check).batch(5).ignore_errors());
  ASSERT_EQ(out.size(), 4u);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(out[i].front(), static_cast<int>(i) * 10 + 5);
}

TEST_P(IgnoreErrors, ReportsWhatItSkipped) {
  auto iterator = source(100).map(check).ignore_errors().batch(9).iterate();
  while (iterator.next()) {
  }
  const SkippedReport report = iterator.skipped();
  EXPECT_EQ(report.count, 10u);
  ASSERT_EQ(report.first.size(), 10u);
  EXPECT_EQ(report.first[2], (SkippedElement{"numbers", 23, "ends with a 3"}));
}

TEST_P(IgnoreErrors, ReportsTheFirstOfVeryMany) {
  auto iterator = source(5000).map(check).ignore_errors().repeat(2).iterate();
  while (iterator.next()) {
  }
  EXPECT_EQ(iterator.skipped().count, 1000u);
  EXPECT_EQ(iterator.skipped().first.size(), SkippedReport::kMaxFirst);
}

// Returns the number of elements before the error, and the error's reason.
std::pair<size_t, std::string> run(const Dataset<int>& dataset) {
  auto iterator = dataset.iterate();
  size_t delivered = 0;
  const Error error = error_of([&] {
    while (iterator.next()) ++delivered;
  });
  EXPECT_EQ(error_of([&] { iterator.next(); }).reason(), error.reason());
  EXPECT_EQ(error.kind(), ErrorKind::limit_exceeded);
  EXPECT_EQ(error.path(), "numbers");
  return {delivered, error.reason()};
}

TEST_P(IgnoreErrors, StopsAtALimitInCount) {
  const auto [delivered, reason] = run(source().map(check).ignore_errors({.max_count = 4}));
  EXPECT_EQ(delivered, 43u - 4);
  EXPECT_EQ(reason,
            "skipped 5 of 44 elements, more than max_count=4 allows; the last one: ends with a 3");
  EXPECT_EQ(collect(source(43).map(check).ignore_errors({.max_count = 4})).size(), 39u);
  EXPECT_EQ(collect(source(43).map(check).ignore_errors({.max_count = 4}).repeat(3)).size(),
            3 * 39u);
}

TEST_P(IgnoreErrors, StopsAtALimitInRate) {
  const auto [delivered, reason] =
      run(source().map(check).ignore_errors({.max_rate = 0.05, .rate_after = 60}));
  EXPECT_EQ(delivered, 60u - 6);
  EXPECT_THAT(reason, HasSubstr("skipped 6 of 60 elements, more than max_rate=0.05"));
  EXPECT_EQ(collect(source().map(check).ignore_errors({.max_rate = 0.15, .rate_after = 60})).size(),
            450u);
}

TEST_P(IgnoreErrors, PassesOnWhatIsNoError) {
  const auto no_memory = [](int x) {
    if (x == 20) throw std::bad_alloc();
    return check(x);
  };
  auto iterator = source().map(no_memory).ignore_errors().iterate();
  for (int i = 0; i < 18; ++i) ASSERT_NE(iterator.next(), nullptr);
  EXPECT_THROW(iterator.next(), std::bad_alloc);
  EXPECT_THROW(iterator.next(), std::bad_alloc);
}

TEST_P(IgnoreErrors, RefusesARateThatIsNone) {
  EXPECT_THROW(source().ignore_errors({.max_rate = 1.5}), Error);
}

INSTANTIATE_TEST_SUITE_P(Options, IgnoreErrors,
                         ::testing::Values(PipelineOptions{.threads = 1, .chunk_size = 64},
                                           PipelineOptions{.threads = 2, .chunk_size = 1},
                                           PipelineOptions{.threads = 3, .chunk_size = 7},
                                           PipelineOptions{.threads = 8, .chunk_size = 1000}));

constexpr Compression kCompressions[] = {Compression::none, Compression::gzip, Compression::zlib,
                                         Compression::zstd};

class IgnoreErrorsInFiles : public ::testing::Test {
 protected:
  // Writes ten records of 12 + 8 + 4 bytes, with a flipped bit in `byte`, if given.
  std::string write(const std::string& name, int first, std::optional<size_t> byte,
                    Compression compression = Compression::none) {
    std::string framed;
    for (int i = first; i < first + 10; ++i) {
      append_framed(as_bytes("record " + std::to_string(i)), framed);
    }
    if (byte) framed[*byte] = static_cast<char>(framed[*byte] ^ 1);
    return write_content(name, framed, compression);
  }

  std::string write_content(const std::string& name, std::string_view framed,
                            Compression compression) {
    const std::string path = directory_.path() + "/" + name;
    RecordWriter writer(posix_file_system(), path, {.compression = compression});
    writer.write_framed(as_bytes(framed), 10);
    writer.close();
    return path;
  }

  static std::string text(const Record& record) { return as_text(record.data); }

  TemporaryDirectory directory_;
};

TEST_F(IgnoreErrorsInFiles, SkipsARecordWhoseCrcDoesNotFit) {
  const auto dataset = tfrecord_files({write("a", 0, 3 * 24 + 14)});
  auto iterator = dataset.map(text).ignore_errors().iterate();
  std::vector<std::string> out;
  while (const std::string* line = iterator.next()) out.push_back(*line);
  EXPECT_EQ(out.size(), 9u);
  EXPECT_THAT(out, testing::Not(testing::Contains("record 3")));
  ASSERT_EQ(iterator.skipped().first.size(), 1u);
  EXPECT_EQ(iterator.skipped().first[0].path, directory_.path() + "/a");
  EXPECT_EQ(iterator.skipped().first[0].offset, 3 * 24u);
}

TEST_F(IgnoreErrorsInFiles, ADamagedRecordOfAStreamCostsNoOther) {
  for (const Compression compression : kCompressions) {
    const std::string damaged = write("a", 0, 3 * 24 + 14, compression);
    const auto open = [](const std::string& path) { return tfrecord_files({path}); };
    const auto paths = from_vector(std::vector{damaged, write("b", 10, {}, Compression::gzip)});
    for (const auto& records :
         {tfrecord_files({damaged, write("b", 10, {})}), paths.interleave(open, 2)}) {
      auto iterator = records.map(text).ignore_errors().iterate();
      std::vector<std::string> out;
      while (const std::string* line = iterator.next()) out.push_back(*line);
      EXPECT_EQ(out.size(), 19u) << to_string(compression);
      EXPECT_EQ(iterator.skipped().count, 1u);
      ASSERT_EQ(iterator.skipped().first.size(), 1u);
      EXPECT_EQ(iterator.skipped().first[0],
                (SkippedElement{damaged, 3 * 24, "data CRC mismatch: corrupted record"}));
    }
    // A failed record has a place: the elements behind it keep theirs.
    const auto records = tfrecord_files({damaged});
    EXPECT_EQ(collect(records.map(text).skip(4)).front(), "record 4");
    EXPECT_EQ(collect(records.map(text).batch(2).ignore_errors()).size(), 4u);
    auto first = records.map(text).ignore_errors().iterate();
    for (int i = 0; i < 5; ++i) first.next();
    auto restored = records.map(text).ignore_errors().iterate();
    restored.restore(first.state());
    EXPECT_EQ(*restored.next(), "record 6");
  }
}

// Damage of the data and of the framing: the plain file is read as a stream, too.
TEST_F(IgnoreErrorsInFiles, TheReportSaysHowMuchIsLostAfterDamagedFraming) {
  std::string framed;
  for (int i = 0; i < 10; ++i) append_framed(as_bytes("record " + std::to_string(i)), framed);
  framed[1 * 24 + 14] ^= 1;
  framed[6 * 24 + 1] ^= 1;
  const auto lines = [](const std::string& path) {
    const auto open = [](const std::string& name) { return tfrecord_files({name}); };
    return from_vector(std::vector{path}).interleave(open, 2).map(text).ignore_errors();
  };
  for (const Compression compression : kCompressions) {
    auto iterator = lines(write_content("a", framed, compression)).iterate();
    size_t count = 0;
    while (iterator.next()) ++count;
    EXPECT_EQ(count, 5u);
    const SkippedReport report = iterator.skipped();
    ASSERT_EQ(report.count, 2u);
    EXPECT_EQ(report.first[1].offset, 6 * 24u);
    const bool is_plain = compression == Compression::none;
    EXPECT_EQ(report.first[1].reason,
              "length CRC mismatch: corrupted record; the rest of the file, 96 bytes" +
                  std::string(is_plain ? "" : " of its content") + ", is lost");
  }

  const std::string path = write_content("b", framed, Compression::gzip);
  std::string bytes = read_file(path);
  const size_t size = bytes.size();
  bytes[size - 8] ^= 1;  // the CRC-32 of the content
  write_file(path, bytes);
  auto iterator = lines(path).iterate();
  while (iterator.next()) {
  }
  EXPECT_THAT(iterator.skipped().first.back().reason,
              testing::EndsWith(" of its " + std::to_string(size) + " compressed bytes, is lost"));
}

TEST_F(IgnoreErrorsInFiles, DamagedFramingEndsItsSource) {
  const std::vector<std::string> paths = {write("a", 0, {}), write("b", 1, 3 * 24 + 1),
                                          write("c", 0, {})};
  auto iterator = tfrecord_files(paths).map(text).ignore_errors().iterate();
  for (int i = 0; i < 13; ++i) ASSERT_NE(iterator.next(), nullptr);
  EXPECT_EQ(error_of([&] { iterator.next(); }).path(), paths[1]);

  // If each file is a separate input, only the damaged file ends early.
  const auto open = [](const std::string& path) { return tfrecord_files({path}); };
  const auto files = from_vector(paths);
  EXPECT_EQ(collect(files.flat_map(open).map(text).ignore_errors()).size(), 23u);
  EXPECT_EQ(collect(files.interleave(open, 2).map(text).ignore_errors()).size(), 23u);
}

TEST_F(IgnoreErrorsInFiles, InputsThatEndWithAnErrorAreThatInEveryLife) {
  const std::vector<std::string> paths = {write("a", 0, {}), directory_.path() + "/missing",
                                          write("b", 1, 3 * 24 + 1), write("c", 0, {})};
  const auto open = [](const std::string& path) {
    if (path.ends_with("/c")) throw Error({.kind = ErrorKind::io, .reason = "can't be opened"});
    return tfrecord_files({path});
  };
  for (const size_t cycle_length : {1, 2, 4}) {
    const auto dataset = from_vector(paths)
                             .interleave(open, cycle_length, 2)
                             .map(text)
                             .ignore_errors({.max_count = 3})
                             .repeat(2);
    const auto expected = collect(dataset);
    EXPECT_EQ(expected.size(), 26u);
    for (size_t at = 0; at <= expected.size(); ++at) {
      auto saving = dataset.with_options({.threads = 1, .chunk_size = 3}).iterate();
      for (size_t i = 0; i < at; ++i) saving.next();
      auto restored = dataset.with_options({.threads = 2}).iterate();
      restored.restore(saving.state());
      for (size_t i = at; i < expected.size(); ++i) ASSERT_EQ(*restored.next(), expected[i]);
      EXPECT_EQ(restored.next(), nullptr);
    }
  }
}

TEST_F(IgnoreErrorsInFiles, RecordsOutliveTheInputTheyCameFrom) {
  std::vector<std::string> paths;
  for (int i = 0; i < 20; ++i) paths.push_back(write(std::to_string(i), 0, {}));
  const auto records = from_vector(paths).interleave(
      [](const std::string& path) { return tfrecord_files({path}); }, 3, 2);
  size_t seen = 0;
  for (const std::vector<Record>& batch : records.shuffle(100, 1).batch(64).prefetch(2)) {
    for (const Record& record : batch) {
      EXPECT_EQ(as_text(record.data).substr(0, 7), "record ");
      EXPECT_THAT(std::string(record.path), HasSubstr(directory_.path()));
      ++seen;
    }
  }
  EXPECT_EQ(seen, 200u);
}

}  // namespace
}  // namespace recordpipe
