// Tests gzip, zlib and zstd streams: reading, writing, truncation and damage.
#include "recordpipe/io/compression.h"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataset/io/compression/inflate_engine.h"
#include "tests/io/compression_engines.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"

namespace recordpipe {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

class Inflate : public EngineTest {};

INSTANTIATE_TEST_SUITE_P(Engines, Inflate,
                         testing::ValuesIn(engines_for({Compression::gzip, Compression::zlib,
                                                        Compression::zstd})),
                         name_of);

TEST_P(Inflate, GivesBackWhatWentIn) {
  for (const int level : {format() == Compression::zstd ? 19 : 0, 1, 6, 9}) {
    for (const size_t size : {0u, 1u, 1000u, 400000u}) {
      const std::string content = sample_content(size);
      const std::string compressed = deflated(content, {format(), level});
      EXPECT_EQ(sniff_compression(as_bytes(compressed)), format());
      EXPECT_TRUE(inflated(compressed) == content) << level << " " << size;
    }
  }
}

// The data of a live stream is delivered before the reader waits for more.
TEST_P(Inflate, ReadsATrickle) {
  const std::string content = sample_content(300000);
  const std::string compressed = deflated(content, {format()});
  const auto source = inflating(std::make_unique<TrickleSource>(compressed));
  std::string out(content.size(), '\0');
  const size_t count = source->read(std::as_writable_bytes(std::span(out)));
  EXPECT_GT(count, 0u);
  EXPECT_LT(count, content.size());
  EXPECT_EQ(out.substr(0, count) + as_text(read_all(*source, content.size())), content);
}

TEST_P(Inflate, ACutAnywhereIsTruncated) {
  const std::string content = sample_content(2000);
  const std::string compressed = deflated(content, {format()});
  for (size_t size = 0; size < compressed.size(); ++size) {
    const auto [before, error] = broken(compressed.substr(0, size));
    ASSERT_EQ(error.kind(), ErrorKind::truncated) << size;
    ASSERT_EQ(error.offset(), size);
    ASSERT_EQ(error.path(), "a.gz");
    ASSERT_TRUE(content.starts_with(before)) << size;
  }
  // The data is complete; only the trailer is truncated.
  EXPECT_EQ(broken(compressed.substr(0, compressed.size() - 1)).first, content);
}

// An error may truncate the content, but no wrong content is returned without an error.
TEST_P(Inflate, AFlippedBitNeverGivesOtherContent) {
  const std::string content = sample_content(500);
  const std::string compressed = deflated(content, {format()});
  size_t refused = 0;
  for (size_t bit = 0; bit < 8 * compressed.size(); ++bit) {
    std::string damaged = compressed;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    try {
      ASSERT_EQ(inflated(damaged), content) << bit;  // a flip in gzip's time or system field
    } catch (const Error& error) {
      ++refused;
      std::set<ErrorKind> kinds{ErrorKind::corrupted, ErrorKind::truncated};
      if (format() == Compression::zstd) {  // a flipped bit may change its window or dictionary
        kinds.insert({ErrorKind::limit_exceeded, ErrorKind::unsupported});
      }
      ASSERT_TRUE(kinds.contains(error.kind())) << error.what();
    }
  }
  EXPECT_GT(refused, 8 * (compressed.size() - 10));
}

TEST_P(Inflate, AWrongTrailerIsFoundAfterAllData) {
  const std::string content = sample_content(2000);
  std::string compressed = deflated(content, {format()});
  // gzip's CRC is followed by a length.
  compressed[compressed.size() - 2 - (format() == Compression::gzip ? 4 : 0)] ^= 1;
  const auto [before, error] = broken(compressed);
  EXPECT_EQ(error.kind(), ErrorKind::corrupted);
  EXPECT_THAT(error.reason(), AnyOf(HasSubstr("incorrect data check"),
                                    HasSubstr("Restored data doesn't match checksum")));
  EXPECT_EQ(before, content);
}

TEST_P(Inflate, ZerosAfterTheEndArePadding) {
  const std::string compressed = deflated("content", {format()});
  EXPECT_EQ(inflated(compressed + std::string(1000000, '\0')), "content");
}

TEST_P(Inflate, GarbageAfterTheEndIsAnError) {
  const std::string compressed = deflated("content", {format()});
  for (const std::string& garbage : {std::string("x"), std::string("\0\0x", 3)}) {
    const auto [before, error] = broken(compressed + garbage);
    EXPECT_EQ(before, "content");
    EXPECT_EQ(error.kind(), ErrorKind::corrupted);
    EXPECT_EQ(error.offset(), compressed.size() + garbage.size() - 1);
    EXPECT_THAT(error.reason(), HasSubstr("garbage"));
  }
}

TEST_P(Inflate, SomethingElseIsRefused) {
  const auto [before, error] = broken("this is no compressed stream");
  EXPECT_EQ(before, "");
  EXPECT_EQ(error.kind(), ErrorKind::corrupted);
}

TEST_P(Inflate, AFailingSourceFailsAfterWhatItGave) {
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
  const std::string content = sample_content(600000);
  const std::string compressed = deflated(content, {format()});
  const auto source =
      inflating(std::make_unique<Failing>(compressed.substr(0, compressed.size() / 2)));
  std::string before;
  std::vector<std::byte> part(content.size());
  const auto read_on = [&] {
    while (const size_t count = source->read(part)) before += as_text(std::span(part).first(count));
  };
  for (int again = 0; again < 2; ++again) EXPECT_EQ(error_of(read_on).kind(), ErrorKind::io);
  EXPECT_FALSE(before.empty());
  EXPECT_TRUE(content.starts_with(before));
}

TEST_P(Inflate, AFailingSinkFails) {
  class Full final : public ByteSink {
   public:
    void write(std::span<const std::byte>) override { throw system_error(28, "write", path()); }
    void close() override {}
    const std::string& path() const override { return path_; }

   private:
    std::string path_ = "full";
  };
  Full sink;
  const auto deflating = deflate(sink, {format()});
  const Error error = error_of([&] {
    deflating->write(as_bytes("x"));
    deflating->close();
  });
  EXPECT_EQ(error.kind(), ErrorKind::no_space);
}

// The formats that allow concatenated members.
class Concatenated : public EngineTest {};

INSTANTIATE_TEST_SUITE_P(Engines, Concatenated,
                         testing::ValuesIn(engines_for({Compression::gzip, Compression::zstd})),
                         name_of);

TEST_P(Concatenated, MembersAreOneStream) {
  const std::string first = deflated(sample_content(300000), {format()});
  const std::string empty = deflated("", {format()});
  EXPECT_EQ(inflated(first + empty + deflated("end", {format()}) + empty),
            sample_content(300000) + "end");
}

TEST_P(Concatenated, ACutInALaterMemberIsTruncated) {
  const std::string member = deflated("content", {format()});
  for (size_t size = 1; size < member.size(); ++size) {
    const auto [before, error] = broken(member + member.substr(0, size));
    EXPECT_EQ(error.kind(), ErrorKind::truncated) << size;
    EXPECT_EQ(error.offset(), member.size() + size);
    EXPECT_TRUE(before.starts_with("content"));
  }
}

TEST_P(Concatenated, DamageInALaterMemberNamesItsPlace) {
  const std::string member = deflated("content", {format()});
  std::string second = member;
  second[second.size() - (format() == Compression::gzip ? 5 : 1)] ^= 1;
  const auto [before, error] = broken(member + second);
  EXPECT_EQ(before, "contentcontent");
  EXPECT_EQ(error.kind(), ErrorKind::corrupted);
  EXPECT_GT(error.offset(), member.size());
}

class Gzip : public EngineTest {};

INSTANTIATE_TEST_SUITE_P(Engines, Gzip, testing::ValuesIn(engines_for({Compression::gzip})),
                         name_of);

TEST_P(Gzip, ReadsWhatGzipWrote) {
  const std::string hello = from_hex("1f8b0800000000000003cb48cdc9c9e7020020303a3606000000");
  EXPECT_EQ(inflated(hello), "hello\n");
  // A header with a name, a comment, an extra field and a header CRC (flags 1e).
  const std::string fields = from_hex(
      "1f8b081e0000000000030300787979"
      "6e616d6500"
      "636f6d6d656e7400");
  const std::string rest = hello.substr(10);
  const auto [before, error] = broken(fields + "??" + rest);
  EXPECT_THAT(error.reason(), HasSubstr("header crc mismatch"));
  // The correct CRC, with the stream in one piece or byte by byte.
  const std::string right = fields + from_hex("7f9e") + rest;
  EXPECT_EQ(inflated(right), "hello\n");
  const auto trickle = inflating(std::make_unique<TrickleSource>(right));
  EXPECT_EQ(as_text(read_all(*trickle, 100)), "hello\n");
}

TEST_P(Gzip, MoreThanFitsComesBeforeMoreIsWaitedFor) {
  class Once final : public ByteSource {  // a second read would fail
   public:
    explicit Once(std::string content) : content_(std::move(content)) {}
    size_t read(std::span<std::byte> out) override {
      if (content_.empty()) throw std::logic_error("asked for more");
      std::ranges::copy(as_bytes(content_), out.begin());
      return std::exchange(content_, {}).size();
    }
    const std::string& path() const override { return path_; }

   private:
    std::string content_;
    std::string path_;
  };
  const std::string content = sample_content(5000);
  const std::string compressed = deflated(content, {});
  const auto source =
      inflating(std::make_unique<Once>(compressed.substr(0, compressed.size() - 9)));
  std::string out;
  while (out.size() < 4000) {
    std::string part(10, '\0');
    part.resize(source->read(std::as_writable_bytes(std::span(part))));
    out += part;
  }
  EXPECT_TRUE(content.starts_with(out));
}

TEST(Deflate, ItsHeaderHoldsNoTimeAndNoName) {
  EXPECT_EQ(to_hex(deflated("x", {Compression::gzip}).substr(0, 8)), "1f8b080000000000");
}

// When ISA-L's fast loop detects damage, it has already counted bytes that it never produced.
TEST_P(Gzip, BeforeDamageComesWhatZlibGives) {
  const auto before_damage = [](std::unique_ptr<InflateEngine> engine, const std::string& damaged) {
    const auto source =
        inflate_by(std::move(engine), std::make_unique<MemorySource>(damaged), Compression::gzip);
    std::string before;
    std::vector<std::byte> part(100000);
    EXPECT_THROW(
        while (const size_t count = source->read(part)) {
          before += as_text(std::span(part).first(count));
        },
        Error);
    return before;
  };
  const std::string compressed = deflated(sample_content(200000), {});
  std::vector<std::string> all = {from_hex(
      "1f8b0800000000000000039d585f6fdb36107ff7a7b8644027af")};  // a distance beyond the start
  for (size_t at = 20; at < compressed.size(); at += compressed.size() / 50) {
    all.push_back(compressed);
    all.back()[at] ^= 0x55;
  }
  for (const std::string& damaged : all) {
    const std::string expected =
        before_damage(make_zlib_inflate_engine(Compression::gzip), damaged);
    EXPECT_TRUE(before_damage(GetParam().make(), damaged) == expected);
  }
}

TEST(InflateAny, ReadsWhatOthersWrote) {
  const auto inflated = [](std::string compressed, Compression format) {
    return as_text(
        read_all(*inflate(std::make_unique<MemorySource>(std::move(compressed)), format), 100));
  };
  const std::string gzip = from_hex("1f8b0800000000000003cb48cdc9c9e7020020303a3606000000");
  EXPECT_EQ(inflated(gzip, Compression::gzip), "hello\n");
  EXPECT_EQ(inflated(from_hex("789ccb48cdc9c9e70200084b021f"), Compression::zlib), "hello\n");
  EXPECT_EQ(inflated(from_hex("28b52ffd045831000068656c6c6f0a5388bd91"), Compression::zstd),
            "hello\n");
  EXPECT_EQ(inflated("content", Compression::none), "content");
}

TEST(SniffCompression, TheFirstBytesDecide) {
  const auto sniff = [](const char* hex) { return sniff_compression(as_bytes(from_hex(hex))); };
  EXPECT_EQ(sniff("1f8b"), Compression::gzip);
  for (const char* zlib : {"7801", "785e", "789c", "78da", "081d", "4889"}) {
    EXPECT_EQ(sniff(zlib), Compression::zlib) << zlib;
  }
  for (const char* zstd : {"28b52ffd", "28b52ffd00", "502a4d18", "5f2a4d18"}) {
    EXPECT_EQ(sniff(zstd), Compression::zstd) << zstd;
  }
  for (const char* other :
       {"", "1f", "78", "1f8c", "789d", "799c", "8801", "78bb", "28b52f", "28b52ffc", "602a4d18"}) {
    EXPECT_EQ(sniff(other), Compression::none) << other;
  }
}

TEST(Deflate, RefusesALevelThatDoesNotExist) {
  MemorySink sink;
  for (const DeflateOptions& options : {DeflateOptions{Compression::gzip, -1},
                                        {Compression::gzip, 10},
                                        {Compression::zlib, 10},
                                        {Compression::zstd, 0},
                                        {Compression::zstd, 23}}) {
    EXPECT_EQ(error_of([&] { deflate(sink, options); }).kind(), ErrorKind::invalid_argument);
  }
}

}  // namespace
}  // namespace recordpipe
