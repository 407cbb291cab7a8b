// Tests shuffling records that don't fit into memory: no record is lost, all orders are equally
// likely, and the order does not depend on whether the records fit.
#include "recordpipe/toolkit/external_shuffle.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

std::vector<std::string> shuffled(const std::vector<std::string>& records, uint64_t seed,
                                  size_t memory, const std::string& directory = ".") {
  ExternalShuffle shuffle({.directory = directory, .seed = seed, .memory = memory});
  for (const std::string& record : records) shuffle.add(as_bytes(record));
  EXPECT_EQ(shuffle.size(), records.size());
  std::vector<std::string> out;
  shuffle.drain([&](std::span<const std::byte> data) { out.push_back(as_text(data)); });
  return out;
}

// Returns records of different lengths, including empty ones.
std::vector<std::string> some_records(size_t count, size_t longest) {
  std::vector<std::string> records;
  for (size_t i = 0; i < count; ++i) {
    records.push_back(i % 10 == 0 ? "" : std::to_string(i) + std::string(i * 7 % longest, 'x'));
  }
  return records;
}

TEST(ExternalShuffleTest, KeepsEveryRecord) {
  TemporaryDirectory directory;
  for (const size_t count : {0, 1, 2, 5000}) {
    std::vector<std::string> records = some_records(count, 2000);
    std::vector<std::string> out = shuffled(records, 1, 1 << 20, directory.path());
    if (count > 2) {
      EXPECT_NE(out, records);
    }
    std::ranges::sort(out);
    std::ranges::sort(records);
    EXPECT_EQ(out, records);
  }
}

TEST(ExternalShuffleTest, TheOrderDoesNotDependOnMemory) {
  TemporaryDirectory directory;
  const auto records = some_records(20'000, 500);
  EXPECT_EQ(shuffled(records, 3, size_t{1} << 30), shuffled(records, 3, 1 << 20, directory.path()));
}

// There are so many records that buckets must be divided again: a bucket has about 5,700 entries,
// of which 2^18 / 2 / 24 fit into memory.
TEST(ExternalShuffleTest, DealsBucketsAgain) {
  TemporaryDirectory directory;
  ExternalShuffle shuffle({.directory = directory.path(), .seed = 5, .memory = 1});
  constexpr uint32_t kRecords = 256 * 5700;
  for (uint32_t i = 0; i < kRecords; ++i) shuffle.add(std::as_bytes(std::span(&i, 1)));
  std::vector<bool> seen(kRecords);
  uint32_t in_place = 0;
  uint32_t place = 0;
  shuffle.drain([&](std::span<const std::byte> data) {
    uint32_t i;
    ASSERT_EQ(data.size(), sizeof(i));
    std::memcpy(&i, data.data(), sizeof(i));
    ASSERT_FALSE(seen[i]);
    seen[i] = true;
    in_place += i == place++ ? 1 : 0;
  });
  EXPECT_EQ(place, kRecords);
  EXPECT_LT(in_place, 12);  // 1 is expected
}

TEST(ExternalShuffleTest, RecordsLargerThanMemory) {
  TemporaryDirectory directory;
  std::vector<std::string> records;
  for (char c = 'a'; c < 'k'; ++c) records.emplace_back(3'000'000, c);
  std::vector<std::string> out = shuffled(records, 1, 1 << 20, directory.path());
  EXPECT_TRUE(out == shuffled(records, 1, size_t{1} << 30));
  std::ranges::sort(out);
  EXPECT_TRUE(out == records);
}

TEST(ExternalShuffleTest, RecordsInPieces) {
  TemporaryDirectory directory;
  for (const size_t memory : {size_t{1} << 20, size_t{1} << 30}) {
    ExternalShuffle shuffle({.directory = directory.path(), .seed = 3, .memory = memory});
    std::vector<std::string> expected;
    for (char c = 'a'; c < 'k'; ++c) {
      const std::string first(400'000, c);
      const std::string second = "tail";
      const std::vector<std::span<const std::byte>> pieces = {
          as_bytes(first), {}, as_bytes(second)};
      shuffle.add(pieces);
      expected.push_back(first + second);
    }
    EXPECT_EQ(shuffle.size(), expected.size());
    std::vector<std::string> out;
    shuffle.drain([&](std::span<const std::byte> data) { out.push_back(as_text(data)); });
    EXPECT_TRUE(out == shuffled(expected, 3, size_t{1} << 30));
  }
}

// Counts the 24 orders of four records over 24,000 seeds. Chi-square with 23 degrees of freedom is
// below 49.7 in 999 of 1000 cases; the seeds are fixed, so the result is always the same.
TEST(ExternalShuffleTest, EveryPermutationIsAsLikely) {
  const std::vector<std::string> records = {"a", "b", "c", "d"};
  std::map<std::vector<std::string>, int> counts;
  for (uint64_t seed = 0; seed < 24'000; ++seed) ++counts[shuffled(records, seed, 1)];
  ASSERT_EQ(counts.size(), 24u);
  double chi_square = 0;
  for (const auto& [order, count] : counts) {
    chi_square += (count - 1000.0) * (count - 1000.0) / 1000.0;
  }
  EXPECT_LT(chi_square, 49.7);
}

// The expected order is fixed, so that no later version changes the order of a seed.
TEST(ExternalShuffleTest, ASeedGivesTheSameOrderForEver) {
  const std::vector<std::string> records = {"0", "1", "2", "3", "4", "5", "6", "7"};
  std::string order;
  for (const std::string& record : shuffled(records, 42, 1)) order += record;
  EXPECT_EQ(order, "46013725");
}

TEST(ExternalShuffleTest, SaysWhichFolderIsMissing) {
  const Error error = error_of([] {
    shuffled({std::string(2 << 20, 'x'), "b"}, 1, 1, "/nowhere/at/all");
  });
  EXPECT_EQ(error.kind(), ErrorKind::not_found);
  EXPECT_EQ(error.path(), "/nowhere/at/all");
}

}  // namespace
}  // namespace recordpipe
