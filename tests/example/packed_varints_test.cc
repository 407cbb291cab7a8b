// The varints of packed lists, compared with those that WireReader reads.
#include "recordpipe/example/internal/packed_varints.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/example/internal/wire_reader.h"

namespace recordpipe {
namespace {

// The values that WireReader reads, or nothing if it throws.
std::optional<std::vector<int64_t>> read_by_one(std::span<const std::byte> packed) {
  std::vector<int64_t> values;
  try {
    for (WireReader reader(packed); !reader.done();) {
      values.push_back(static_cast<int64_t>(reader.read_varint()));
    }
  } catch (const Error&) {
    return std::nullopt;
  }
  return values;
}

// Compares all functions for the bytes of a list, which begins after the headers of its record.
void expect_as_read_by_one(const std::vector<std::byte>& list) {
  std::vector<std::byte> record(8, std::byte{0xff});
  record.insert(record.end(), list.begin(), list.end());
  const auto packed = std::span<const std::byte>(record).subspan(8);
  const auto expected = read_by_one(packed);
  const auto count = count_varints(packed);
  ASSERT_EQ(count.has_value(), expected.has_value());
  if (!packed.empty()) {
    int64_t value = 0;
    const bool is_single = expected && expected->size() == 1 && packed.size() <= 8;
    ASSERT_EQ(decode_single_varint(packed, value), is_single);
    if (is_single) {
      ASSERT_EQ(value, expected->front());
    }
  }
  if (!expected) return;
  ASSERT_EQ(*count, expected->size());
  std::vector<int64_t> values(expected->size());
  ASSERT_EQ(decode_varints(packed, values.data()), values.data() + values.size());
  ASSERT_EQ(values, *expected);
}

TEST(PackedVarints, OfEachLengthAtEachPosition) {
  for (size_t before = 0; before < 20; ++before) {
    for (size_t length = 1; length < 14; ++length) {
      for (const size_t after : {0, 1, 9}) {
        std::vector<std::byte> list(before, std::byte{5});
        list.insert(list.end(), length - 1, std::byte{0xb5});
        list.push_back(std::byte{0x7f});
        list.insert(list.end(), after, std::byte{6});
        expect_as_read_by_one(list);
      }
    }
  }
}

TEST(PackedVarints, ThatDoNotEnd) {
  for (size_t size = 1; size < 20; ++size) {
    std::vector<std::byte> list(size, std::byte{5});
    list.back() = std::byte{0x80};
    expect_as_read_by_one(list);
  }
}

TEST(PackedVarints, OfRandomBytes) {
  std::mt19937_64 random(3);
  for (size_t round = 0; round < 200'000; ++round) {
    std::vector<std::byte> list(random() % 40);
    const uint64_t continued = random() % 8;  // of 8 bytes
    for (std::byte& byte : list) {
      byte = static_cast<std::byte>((random() & 0x7f) | (random() % 8 < continued ? 0x80 : 0));
    }
    if (!list.empty() && round % 4 != 0) list.back() &= std::byte{0x7f};
    expect_as_read_by_one(list);
  }
}

}  // namespace
}  // namespace recordpipe
