// Tests a pass over records, in blocks and without copies.
#include "dataset/toolkit/selection/record_pass.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "tests/support/bytes.h"

namespace recordpipe {
namespace {

struct Passed {
  std::vector<size_t> sizes;  // of the records
  size_t blocks = 0;
  size_t largest_block = 0;
};

// Passes over `records` until `most` of them have been visited.
Passed pass_over(const std::vector<std::string>& records, size_t most = SIZE_MAX) {
  size_t next = 0;
  Passed passed;
  struct Sizes {
    std::vector<size_t> sizes;
    size_t memory;
  };
  pass_over_records<Sizes>(
      [&]() -> std::optional<NumberedRecord> {
        if (next == records.size()) return std::nullopt;
        const uint64_t number = next++;
        return NumberedRecord{{.data = as_bytes(records[number])}, number};
      },
      2,
      [](const RecordBlock& block) {
        Sizes out = {.sizes = {}, .memory = block.memory()};
        for (size_t i = 0; i < block.size(); ++i) {
          EXPECT_EQ(block[i].number, block[0].number + i);
          out.sizes.push_back(block[i].data.size());
        }
        return out;
      },
      [&](const Sizes& block) {
        passed.sizes.insert(passed.sizes.end(), block.sizes.begin(), block.sizes.end());
        passed.blocks += 1;
        passed.largest_block = std::max(passed.largest_block, block.memory);
        return passed.sizes.size() < most;
      },
      [&](const NumberedRecord& record) {
        EXPECT_EQ(record.number, passed.sizes.size());
        passed.sizes.push_back(record.data.size());
        return passed.sizes.size() < most;
      });
  return passed;
}

TEST(RecordPass, ShortAndLongOnesInOrder) {
  std::vector<std::string> records;
  std::vector<size_t> expected;
  for (size_t i = 0; i < 300; ++i) {
    expected.push_back(i % 50 == 7 ? 2'000'000 : i % 3 == 0 ? 0 : i * 100);
    records.emplace_back(expected.back(), 'x');
  }
  EXPECT_EQ(pass_over(records).sizes, expected);
  EXPECT_EQ(pass_over({}).sizes, std::vector<size_t>());
  EXPECT_EQ(pass_over(records, 8).sizes.size(), 8u);  // the eighth record is long
}

// The memory of a block is bounded for any number of records.
TEST(RecordPass, RecordsOfNoLength) {
  const Passed passed = pass_over(std::vector<std::string>(100'000));
  EXPECT_EQ(passed.sizes.size(), 100'000u);
  EXPECT_GT(passed.blocks, 5u);
  EXPECT_LT(passed.largest_block, size_t{1} << 20);
}

// Damage [n, n + 1) is met before each record of even number n, and at the end. Returns where it is
// told, in a pass that consumes at least `most` records.
std::vector<uint64_t> damage_told(const std::vector<std::string>& records, size_t most) {
  size_t next = 0;
  size_t consumed = 0;
  std::vector<uint64_t> told;
  HeldDamage damage([&](const std::string&, const DamagedRegion& region) {
    EXPECT_EQ(region.begin, consumed);
    told.push_back(region.begin);
  });
  const DamageSink meet = damage.holding();
  const auto take = [&](size_t count) {
    consumed += count;
    return consumed < most;
  };
  pass_over_records<size_t>(
      [&]() -> std::optional<NumberedRecord> {
        if (next % 2 == 0) meet("a", {.begin = next, .end = next + 1});
        if (next == records.size()) return std::nullopt;
        const uint64_t number = next++;
        return NumberedRecord{{.data = as_bytes(records[number])}, number};
      },
      2, [](const RecordBlock& block) { return block.size(); }, take,
      [&](const NumberedRecord&) { return take(1); }, {.large_size = 100, .damage = &damage});
  return told;
}

TEST(RecordPass, DamageIsToldBehindTheRecordsBeforeIt) {
  for (const size_t length : {0, 10, 1000}) {
    const std::vector<std::string> records(6, std::string(length, 'x'));
    EXPECT_EQ(damage_told(records, SIZE_MAX), (std::vector<uint64_t>{0, 2, 4, 6}));
    EXPECT_EQ(damage_told(records, 4), (std::vector<uint64_t>{0, 2}));
    EXPECT_EQ(damage_told(records, 6), (std::vector<uint64_t>{0, 2, 4}));
  }
}

}  // namespace
}  // namespace recordpipe
