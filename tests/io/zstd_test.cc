// Tests features that only zstd has: skippable frames, windows, blocks.
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/io/compression.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"

namespace recordpipe {
namespace {

using testing::HasSubstr;

std::unique_ptr<ByteSource> decompressing(std::string compressed) {
  return inflate(std::make_unique<MemorySource>(std::move(compressed), "a.zst"), Compression::zstd);
}

std::string decompressed(std::string compressed) {
  return as_text(read_all(*decompressing(std::move(compressed)), 1u << 30));
}

std::string compressed(std::string_view content, size_t piece, int level = 3) {
  MemorySink sink;
  const auto compressing = deflate(sink, {Compression::zstd, level});
  for (size_t used = 0; used < content.size(); used += piece) {
    compressing->write(as_bytes(content.substr(used, piece)));
  }
  compressing->close();
  return sink.content;
}

std::string random_text(size_t size) {
  std::string content;
  uint32_t state = 1;
  while (content.size() < size) {
    state = state * 1664525 + 1013904223;
    content += std::to_string(state >> 16);
  }
  content.resize(size);
  return content;
}

const char* const kHello = "28b52ffd045831000068656c6c6f0a5388bd91";  // written by zstd(1)

TEST(Zstd, AChecksumMayBeMissing) {
  EXPECT_EQ(decompressed(from_hex(kHello)), "hello\n");
  EXPECT_EQ(decompressed(from_hex("28b52ffd005831000068656c6c6f0a")), "hello\n");
}

// pzstd(1) writes a skippable frame before each frame.
TEST(Zstd, SkippableFramesAreSkipped) {
  const std::string skipped = from_hex("502a4d180400000031000000");
  const std::string hello = from_hex(kHello);
  EXPECT_EQ(decompressed(skipped + hello + skipped + hello + skipped), "hello\nhello\n");
  EXPECT_EQ(decompressed(skipped), "");
  // A skippable frame whose header says 4 GiB.
  auto source = decompressing(from_hex("5f2a4d18ffffffff") + "and then the file ends");
  std::byte byte;
  const Error error = error_of([&] { source->read({&byte, 1}); });
  EXPECT_EQ(error.kind(), ErrorKind::truncated);
  EXPECT_EQ(error.offset(), 30u);
}

TEST(Zstd, TheSameBytesHoweverTheyCome) {
  const std::string content = random_text(700'000);
  const std::string whole = compressed(content, content.size());
  EXPECT_EQ(compressed(content, 1000), whole);
  EXPECT_EQ(compressed(content, 131'071), whole);
  EXPECT_LT(compressed(content, 1000, 19).size(), whole.size());
}

// Frames whose headers declare windows of 2^27 bytes, 2^28 bytes, and up to a terabyte.
TEST(Zstd, AWindowIsBounded) {
  const std::string nothing = from_hex("010000");  // the last block, empty
  EXPECT_EQ(decompressed(from_hex("28b52ffd0088") + nothing), "");
  for (const char* header : {"28b52ffd0090", "28b52ffde00000000000010000"}) {
    auto source = decompressing(from_hex(header) + nothing);
    std::byte byte;
    const Error error = error_of([&] { source->read({&byte, 1}); });
    EXPECT_EQ(error.kind(), ErrorKind::limit_exceeded);
    EXPECT_EQ(error.path(), "a.zst");
    EXPECT_THAT(error.reason(), HasSubstr("128 MiB"));
    EXPECT_THAT(error.hint(), HasSubstr("--long"));
  }
}

// "hello" again, compressed with the dictionary whose ID is 7 (RFC 8878, 3.1.1.1.1.6).
TEST(Zstd, AFrameThatNeedsADictionaryIsNotCalledDamaged) {
  const std::string hello = from_hex(kHello);
  auto source = decompressing(hello + from_hex("28b52ffd05580731000068656c6c6f0a5388bd91"));
  std::array<std::byte, 6> before;
  EXPECT_EQ(read_fully(*source, before), before.size());
  EXPECT_EQ(as_text(before), "hello\n");
  const Error error = error_of([&] { source->read(before); });
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_EQ(error.path(), "a.zst");
  EXPECT_GE(error.offset(), hello.size());
  EXPECT_THAT(error.reason(), HasSubstr("needs the dictionary"));
  EXPECT_THAT(error.hint(), HasSubstr("-D DICTIONARY"));
}

TEST(Zstd, BlocksBeforeDamageComeOut) {
  const std::string content = random_text(700'000);
  std::string damaged = compressed(content, content.size());
  const size_t at = damaged.size() * 2 / 3;
  for (size_t i = 0; i < 2000; ++i) damaged[at + i] = static_cast<char>(damaged[at + i] ^ 0x5A);
  for (const size_t piece : {size_t{1000}, content.size()}) {
    auto source = decompressing(damaged);
    std::string before;
    std::vector<std::byte> buffer(piece);
    const Error error = error_of([&] {
      while (const size_t count = source->read(buffer)) {
        before += as_text(std::span(buffer).first(count));
      }
    });
    EXPECT_EQ(error.kind(), ErrorKind::corrupted);
    EXPECT_GT(error.offset(), damaged.size() / 3);
    EXPECT_LE(error.offset(), at + 2000);
    EXPECT_GT(before.size(), content.size() / 3);
    EXPECT_TRUE(content.starts_with(before));
  }
}

}  // namespace
}  // namespace recordpipe
