// Runs the same tests on all implementations of CRC-32C.
#include "recordpipe/checksum/crc32c.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/bytes.h"

namespace recordpipe {
namespace {

// Computes the CRC one bit at a time, by its definition.
uint32_t reference_extend(uint32_t crc, std::span<const std::byte> data) {
  crc = ~crc;
  for (const std::byte byte : data) {
    crc ^= std::to_integer<uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc % 2 != 0 ? 0x82f63b78 : 0);
  }
  return ~crc;
}

std::vector<std::byte> random_bytes(size_t size, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

class Crc32c : public testing::TestWithParam<Crc32cImplementation> {
 protected:
  static uint32_t crc(std::span<const std::byte> data) { return GetParam().extend(0, data); }
};

TEST_P(Crc32c, PublishedVectors) {
  std::string ascending;
  for (int i = 0; i < 32; ++i) ascending += static_cast<char>(i);
  const std::string descending(ascending.rbegin(), ascending.rend());
  EXPECT_EQ(crc({}), 0u);
  EXPECT_EQ(crc(as_bytes("123456789")), 0xE3069283);
  EXPECT_EQ(crc(as_bytes("foo")), 0xCFC4AE1D);
  EXPECT_EQ(crc(as_bytes(std::string(32, '\0'))), 0x8A9136AA);
  EXPECT_EQ(crc(as_bytes(std::string(32, '\xff'))), 0x62A8AB43);
  EXPECT_EQ(crc(as_bytes(ascending)), 0x46DD794E);
  EXPECT_EQ(crc(as_bytes(descending)), 0x113FDB5C);
}

TEST(Crc32cConcat, IsTheCrcOfBothBlocks) {
  const auto bytes = random_bytes(5000, 2);
  for (size_t cut = 0; cut <= bytes.size(); cut += cut < 20 ? 1 : 97) {
    const auto second = std::span(bytes).subspan(cut);
    EXPECT_EQ(crc32c_concat(crc32c(std::span(bytes).first(cut)), crc32c(second), second.size()),
              crc32c(bytes));
    // The inverse: the second block's CRC, from the CRCs of the first block and of the whole.
    EXPECT_EQ(crc32c_concat(crc32c(std::span(bytes).first(cut)), crc32c(bytes), second.size()),
              crc32c(second));
  }
}

// Appending 2^40 bytes in one step equals appending 2^20 bytes 2^20 times.
TEST(Crc32cConcat, MovesAsFarAsIsAsked) {
  uint32_t crc = 0x12345678;
  for (int i = 0; i < 1 << 20; ++i) crc = crc32c_concat(crc, 0, 1 << 20);
  EXPECT_EQ(crc, crc32c_concat(0x12345678, 0, uint64_t{1} << 40));
}

TEST_P(Crc32c, EveryShortLengthAtEveryAlignment) {
  const auto bytes = random_bytes(700, 1);
  for (size_t start = 0; start < 9; ++start) {
    for (size_t size = 0; size + start <= bytes.size(); ++size) {
      const auto data = std::span(bytes).subspan(start, size);
      ASSERT_EQ(crc(data), reference_extend(0, data)) << size << " bytes from " << start;
    }
  }
}

// Near the lengths at which the number or the size of the interleaved blocks changes.
TEST_P(Crc32c, LongLengths) {
  const auto bytes = random_bytes(40000, 2);
  for (const size_t around : {3072u, 6144u, 6168u, 12288u, 18432u, 39960u}) {
    for (size_t size = around - 30; size < around + 30; ++size) {
      const auto data = std::span(bytes).subspan(size % 8, size);
      ASSERT_EQ(crc(data), reference_extend(0, data)) << size;
    }
  }
}

TEST_P(Crc32c, ChainsAtEveryCut) {
  const auto bytes = random_bytes(2000, 3);
  const uint32_t whole = reference_extend(0, bytes);
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    const uint32_t first = crc(std::span(bytes).first(cut));
    ASSERT_EQ(GetParam().extend(first, std::span(bytes).subspan(cut)), whole) << cut;
  }
}

TEST_P(Crc32c, RandomPieces) {
  std::mt19937 random(4);
  for (int round = 0; round < 200; ++round) {
    const auto bytes = random_bytes(random() % 20000, random());
    uint32_t chained = 0;
    for (size_t used = 0; used < bytes.size();) {
      const size_t size = std::min<size_t>(random() % 8000, bytes.size() - used);
      chained = GetParam().extend(chained, std::span(bytes).subspan(used, size));
      used += size;
    }
    ASSERT_EQ(chained, crc32c_implementations().front().extend(0, bytes));
  }
}

INSTANTIATE_TEST_SUITE_P(Implementations, Crc32c, testing::ValuesIn(crc32c_implementations()),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(MaskedCrc, PublishedVectors) {
  EXPECT_EQ(mask_crc(crc32c({})), 0xA282EAD8);
  EXPECT_EQ(mask_crc(crc32c(as_bytes("123456789"))), 0xC78AB0E5);
  EXPECT_EQ(mask_crc(crc32c(as_bytes("foo"))), 0xFEBE8A61);
}

}  // namespace
}  // namespace recordpipe
