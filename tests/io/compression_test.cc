// gzip and zlib streams: read, written, cut, damaged.
#include "dataset/io/compression.h"

#include <algorithm>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"

namespace recordpipe {
namespace {

using testing::HasSubstr;

std::string deflated(std::string_view content, DeflateOptions options) {
  MemorySink sink;
  const auto deflating = deflate(sink, options);
  // In pieces, as a writer would.
  for (size_t used = 0; used < content.size(); used += 1000) {
    deflating->write(as_bytes(content.substr(used, 1000)));
  }
  deflating->close();
  return sink.content;
}

std::unique_ptr<ByteSource> inflating(std::string compressed, Compression format) {
  return inflate(std::make_unique<MemorySource>(std::move(compressed), "a.gz"), format);
}

std::string inflated(std::string compressed, Compression format) {
  return as_text(read_all(*inflating(std::move(compressed), format), 1u << 30));
}

// What comes out of a damaged stream before its error, and the error.
std::pair<std::string, Error> broken(std::string compressed, Compression format) {
  const auto source = inflating(std::move(compressed), format);
  std::string before;
  const auto read_once = [&] {
    std::string part(777, '\0');
    part.resize(source->read(std::as_writable_bytes(std::span(part))));
    before += part;
    return !part.empty();
  };
  const Error error = error_of([&] {
    while (read_once()) {
    }
  });
  // And ever after.
  EXPECT_STREQ(error_of(read_once).what(), error.what());
  return {before, error};
}

// Compresses badly enough for cuts to matter, and well enough for back references.
std::string sample_content(size_t size) {
  std::string content;
  uint32_t state = 1;
  while (content.size() < size) {
    state = state * 1664525 + 1013904223;
    content += std::string(state >> 30, 'a') + static_cast<char>(state >> 24);
  }
  return content;
}

class CompressionFormat : public testing::TestWithParam<Compression> {};

INSTANTIATE_TEST_SUITE_P(Formats, CompressionFormat,
                         testing::Values(Compression::gzip, Compression::zlib),
                         [](const auto& instance) {
                           return std::string(to_string(instance.param));
                         });

TEST_P(CompressionFormat, GivesBackWhatWentIn) {
  for (const int level : {0, 1, 6, 9}) {
    for (const size_t size : {0u, 1u, 1000u, 400000u}) {
      const std::string content = sample_content(size);
      const std::string compressed = deflated(content, {GetParam(), level});
      EXPECT_EQ(sniff_compression(as_bytes(compressed)), GetParam());
      EXPECT_TRUE(inflated(compressed, GetParam()) == content) << level << " " << size;
    }
  }
}

// What has come of a live stream is given before more of it is waited for.
TEST_P(CompressionFormat, ReadsATrickle) {
  const std::string content = sample_content(2000);
  const std::string compressed = deflated(content, {GetParam()});
  const auto source = inflate(std::make_unique<TrickleSource>(compressed), GetParam());
  std::string out(content.size(), '\0');
  const size_t count = source->read(std::as_writable_bytes(std::span(out)));
  EXPECT_GT(count, 0u);
  EXPECT_LT(count, content.size());
  EXPECT_EQ(out.substr(0, count) + as_text(read_all(*source, content.size())), content);
}

TEST_P(CompressionFormat, ACutAnywhereIsTruncated) {
  const std::string content = sample_content(2000);
  const std::string compressed = deflated(content, {GetParam()});
  for (size_t size = 0; size < compressed.size(); ++size) {
    const auto [before, error] = broken(compressed.substr(0, size), GetParam());
    ASSERT_EQ(error.kind(), ErrorKind::truncated) << size;
    ASSERT_EQ(error.offset(), size);
    ASSERT_EQ(error.path(), "a.gz");
    ASSERT_TRUE(content.starts_with(before)) << size;
  }
  // All data is there, only the trailer is cut.
  EXPECT_EQ(broken(compressed.substr(0, compressed.size() - 1), GetParam()).first, content);
}

// What comes out may be cut short by an error but is never wrong and whole.
TEST_P(CompressionFormat, AFlippedBitNeverGivesOtherContent) {
  const std::string content = sample_content(500);
  const std::string compressed = deflated(content, {GetParam()});
  size_t refused = 0;
  for (size_t bit = 0; bit < 8 * compressed.size(); ++bit) {
    std::string damaged = compressed;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    try {
      ASSERT_EQ(inflated(damaged, GetParam()), content) << bit;  // gzip's time and system
    } catch (const Error& error) {
      ++refused;
      ASSERT_TRUE(error.kind() == ErrorKind::corrupted || error.kind() == ErrorKind::truncated);
    }
  }
  EXPECT_GT(refused, 8 * (compressed.size() - 10));
}

TEST_P(CompressionFormat, AWrongTrailerIsFoundAfterAllData) {
  const std::string content = sample_content(2000);
  std::string compressed = deflated(content, {GetParam()});
  compressed[compressed.size() - 6 + (GetParam() == Compression::zlib ? 4 : 0)] ^= 1;
  const auto [before, error] = broken(compressed, GetParam());
  EXPECT_EQ(error.kind(), ErrorKind::corrupted);
  EXPECT_THAT(error.reason(), HasSubstr("incorrect data check"));
  EXPECT_EQ(before, content);
}

TEST_P(CompressionFormat, ZerosAfterTheEndArePadding) {
  const std::string compressed = deflated("content", {GetParam()});
  EXPECT_EQ(inflated(compressed + std::string(1000000, '\0'), GetParam()), "content");
}

TEST_P(CompressionFormat, GarbageAfterTheEndIsAnError) {
  const std::string compressed = deflated("content", {GetParam()});
  for (const std::string& garbage : {std::string("x"), std::string("\0\0x", 3)}) {
    const auto [before, error] = broken(compressed + garbage, GetParam());
    EXPECT_EQ(before, "content");
    EXPECT_EQ(error.kind(), ErrorKind::corrupted);
    EXPECT_EQ(error.offset(), compressed.size() + garbage.size() - 1);
    EXPECT_THAT(error.reason(), HasSubstr("garbage"));
  }
}

TEST_P(CompressionFormat, SomethingElseIsRefused) {
  const auto [before, error] = broken("this is no compressed stream", GetParam());
  EXPECT_EQ(before, "");
  EXPECT_EQ(error.kind(), ErrorKind::corrupted);
}

TEST_P(CompressionFormat, AFailingSourceFailsAfterWhatItGave) {
  class Failing final : public ByteSource {
   public:
    explicit Failing(std::string content) : rest_(std::move(content)) {}
    size_t read(std::span<std::byte> out) override {
      const size_t count = rest_.read(out);
      if (count == 0) throw system_error(5, "read", path());
      return count;
    }
    const std::string& path() const override { return rest_.path(); }

   private:
    MemorySource rest_;
  };
  const std::string content = sample_content(2000);
  const std::string compressed = deflated(content, {GetParam()});
  const auto source =
      inflate(std::make_unique<Failing>(compressed.substr(0, compressed.size() / 2)), GetParam());
  std::string out(content.size(), '\0');
  const size_t count = source->read(std::as_writable_bytes(std::span(out)));
  EXPECT_GT(count, 0u);
  EXPECT_TRUE(content.starts_with(out.substr(0, count)));
  for (int again = 0; again < 2; ++again) {
    const Error error = error_of([&] { source->read(std::as_writable_bytes(std::span(out))); });
    EXPECT_EQ(error.kind(), ErrorKind::io);
  }
}

TEST_P(CompressionFormat, AFailingSinkFails) {
  class Full final : public ByteSink {
   public:
    void write(std::span<const std::byte>) override { throw system_error(28, "write", path()); }
    void close() override {}
    const std::string& path() const override { return path_; }

   private:
    std::string path_ = "full";
  };
  Full sink;
  const auto deflating = deflate(sink, {GetParam()});
  const Error error = error_of([&] {
    deflating->write(as_bytes("x"));
    deflating->close();
  });
  EXPECT_EQ(error.kind(), ErrorKind::no_space);
}

TEST(Gzip, ReadsWhatGzipWrote) {
  const std::string hello = from_hex("1f8b0800000000000003cb48cdc9c9e7020020303a3606000000");
  EXPECT_EQ(inflated(hello, Compression::gzip), "hello\n");
  // With a name, a comment, an extra field and a header CRC (flags 1e).
  const std::string fields = from_hex(
      "1f8b081e0000000000030300787979"
      "6e616d6500"
      "636f6d6d656e7400");
  const std::string rest = hello.substr(10);
  const auto [before, error] = broken(fields + "??" + rest, Compression::gzip);
  EXPECT_THAT(error.reason(), HasSubstr("header crc mismatch"));
}

TEST(Gzip, ItsHeaderHoldsNoTimeAndNoName) {
  EXPECT_EQ(to_hex(deflated("x", {Compression::gzip}).substr(0, 8)), "1f8b080000000000");
}

TEST(Gzip, ConcatenatedMembersAreOneStream) {
  const std::string first = deflated(sample_content(300000), {});
  const std::string empty = deflated("", {});
  EXPECT_EQ(inflated(first + empty + deflated("end", {}) + empty, Compression::gzip),
            sample_content(300000) + "end");
}

TEST(Gzip, ACutInALaterMemberIsTruncated) {
  const std::string member = deflated("content", {});
  for (size_t size = 1; size < member.size(); ++size) {
    const auto [before, error] = broken(member + member.substr(0, size), Compression::gzip);
    EXPECT_EQ(error.kind(), ErrorKind::truncated) << size;
    EXPECT_EQ(error.offset(), member.size() + size);
    EXPECT_TRUE(before.starts_with("content"));
  }
}

TEST(Gzip, DamageInALaterMemberNamesItsPlace) {
  const std::string member = deflated("content", {});
  std::string second = member;
  second[second.size() - 5] ^= 1;
  const auto [before, error] = broken(member + second, Compression::gzip);
  EXPECT_EQ(before, "contentcontent");
  EXPECT_EQ(error.kind(), ErrorKind::corrupted);
  EXPECT_GT(error.offset(), member.size());
}

TEST(Zlib, ReadsWhatZlibWrote) {
  EXPECT_EQ(inflated(from_hex("789ccb48cdc9c9e7020008 4b021f"), Compression::zlib), "hello\n");
}

TEST(Inflate, NoCompressionIsTheSourceItself) {
  EXPECT_EQ(inflated("content", Compression::none), "content");
}

TEST(SniffCompression, TwoBytesDecide) {
  const auto sniff = [](const char* hex) { return sniff_compression(as_bytes(from_hex(hex))); };
  EXPECT_EQ(sniff("1f8b"), Compression::gzip);
  for (const char* zlib : {"7801", "785e", "789c", "78da", "081d", "4889"}) {
    EXPECT_EQ(sniff(zlib), Compression::zlib) << zlib;
  }
  for (const char* other : {"", "1f", "78", "1f8c", "789d", "799c", "8801", "78bb", "28b52ffd"}) {
    EXPECT_EQ(sniff(other), Compression::none) << other;
  }
}

TEST(Deflate, RefusesALevelThatDoesNotExist) {
  MemorySink sink;
  for (const int level : {-1, 10}) {
    EXPECT_EQ(error_of([&] {
                deflate(sink, {Compression::gzip, level});
              }).kind(),
              ErrorKind::invalid_argument);
  }
}

}  // namespace
}  // namespace recordpipe
