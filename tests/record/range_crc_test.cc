// Tests CRCs of overlapping ranges, computed from checkpoints.
#include "dataset/record/scan/range_crc.h"

#include <random>
#include <string>

#include <gtest/gtest.h>

#include "recordpipe/checksum/crc32c.h"
#include "tests/support/bytes.h"

namespace recordpipe {
namespace {

TEST(RangeCrc, IsTheCrcOfAnyRange) {
  std::mt19937_64 random(1);
  std::string content(300'000, '\0');
  for (char& c : content) c = static_cast<char>(random());
  // With a low limit, most checkpoints are dropped.
  for (const size_t most : {RangeCrc::kMaxCheckpoints, size_t{7}}) {
    StreamScanInput input(std::make_unique<MemorySource>(content));
    RangeCrc crc(input, most);
    for (uint64_t begin = 0; begin < content.size(); begin += random() % 3000) {
      input.forget(begin);
      const uint64_t size = random() % (content.size() - begin + 1);
      ASSERT_EQ(crc.of(begin, begin + size), crc32c(as_bytes(content).subspan(begin, size)))
          << size << " bytes at " << begin;
    }
  }
}

}  // namespace
}  // namespace recordpipe
