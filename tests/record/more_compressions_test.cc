// Tests the compressions that are only read: framed Snappy, what is compressed twice, and formats
// that need another library. (tests/cli/tfrecord_bad_inputs_test.py reads files of other programs.)
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataset/record/snappy_source.h"
#include "recordpipe/base/internal/endian.h"
#include "recordpipe/checksum/crc32c.h"
#include "recordpipe/io/compression.h"
#include "recordpipe/record/record_reader.h"
#include "recordpipe/record/record_writer.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> records_of(const std::string& content) {
  RecordReader reader(std::make_unique<MemorySource>(content));
  std::vector<std::string> records;
  while (const auto record = reader.read()) records.push_back(as_text(record->data));
  return records;
}

std::string compressed(const std::string& content, Compression compression) {
  MemorySink sink;
  const auto deflating = deflate(sink, {compression, 1});
  deflating->write(as_bytes(content));
  deflating->close();
  return sink.content;
}

std::string three_records() {
  std::string content;
  for (const char* name : {"record 0", "record 1", "record 2"}) {
    append_framed(as_bytes(name + std::string(40, 'x')), content);
  }
  return content;
}

TEST(MoreCompressions, WhatIsCompressedAgain) {
  std::string content = three_records();
  const std::vector<std::string> records = records_of(content);
  ASSERT_EQ(records.size(), 3u);
  for (const Compression outer : {Compression::gzip, Compression::zlib, Compression::zstd}) {
    for (const Compression inner : {Compression::gzip, Compression::zstd}) {
      EXPECT_EQ(records_of(compressed(compressed(content, inner), outer)), records);
    }
  }
  for (int i = 0; i < 4; ++i) content = compressed(content, Compression::gzip);
  EXPECT_EQ(records_of(content), records);
  content = compressed(content, Compression::gzip);  // too often
  EXPECT_EQ(error_of([&] { records_of(content); }).kind(), ErrorKind::corrupted);
  EXPECT_THAT(records_of(compressed("", Compression::gzip)), ElementsAre());
}

// Not damage, which readers leave out if they are told to.
TEST(MoreCompressions, AGivenOneThatTheFileDoesNotHave) {
  const std::string plain = three_records();
  const std::string parquet = "PAR1" + std::string(60, 'x');
  const auto read_as = [](Compression given, const std::string& content) {
    return error_of([&] {
      RecordReader reader(std::make_unique<MemorySource>(content), {.compression = given});
      reader.read();
    });
  };
  constexpr Compression kAll[] = {Compression::gzip, Compression::zlib, Compression::zstd};
  for (const Compression given : kAll) {
    SCOPED_TRACE(to_string(given));
    const Error of_plain = read_as(given, plain);
    EXPECT_EQ(of_plain.kind(), ErrorKind::invalid_argument);
    EXPECT_THAT(of_plain.reason(), HasSubstr("but TFRecords without compression"));
    EXPECT_EQ(of_plain.remedy(), Remedy::detect_compression);
    const Error of_pieces = error_of([&] {
      RecordReader reader(std::make_unique<TrickleSource>(plain), {.compression = given});
      reader.read();
    });
    EXPECT_EQ(of_pieces.reason(), of_plain.reason());
    EXPECT_THAT(read_as(given, parquet).hint(), HasSubstr("Parquet"));
    for (const Compression other : {Compression::gzip, Compression::zstd}) {
      if (other == given) continue;
      const Error error = read_as(given, compressed(plain, other));
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      EXPECT_THAT(error.reason(), HasSubstr("but with " + std::string(to_string(other))));
    }
    std::string damaged = compressed(plain, given);
    damaged[0] = '\0';
    EXPECT_EQ(read_as(given, damaged).kind(), ErrorKind::corrupted);
  }
}

// The first bytes are looked at; what comes before an error is still returned.
TEST(MoreCompressions, DamageInTheFirstBytesOfTheContent) {
  const std::string whole =
      compressed(compressed(three_records(), Compression::gzip), Compression::gzip);
  for (size_t size = 0; size < whole.size(); ++size) {
    RecordReader reader(std::make_unique<MemorySource>(whole.substr(0, size)));
    if (size < 3) continue;  // not recognised as gzip
    const Error error = error_of([&] {
      while (reader.read()) continue;
    });
    EXPECT_EQ(error.kind(), ErrorKind::truncated) << size;
  }
}

TEST(MoreCompressions, FormatsOfOtherLibrariesAreNamed) {
  const std::string xz =
      "\xfd"
      "7zXZ" +
      std::string(20, '\0');
  const std::string lz4 = "\x04\x22\x4d\x18" + std::string(20, 'x');
  const std::string bzip2 = "BZh91AY&SY" + std::string(20, 'x');
  for (const auto& [content, name] :
       {std::pair(xz, "xz"), std::pair(lz4, "lz4"), std::pair(bzip2, "bzip2")}) {
    const Error error = error_of([&, &bytes = content] { records_of(bytes); });
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_THAT(error.reason(), HasSubstr(std::string("compressed with ") + name));
  }
  MemorySink sink;
  EXPECT_THROW(deflate(sink, {Compression::xz, 6}), Error);
}

std::string chunk(char type, const std::string& stored, const std::string& content) {
  std::string head(8, type);
  store_little_endian(static_cast<uint32_t>(stored.size() + 4),
                      reinterpret_cast<std::byte*>(head.data()) + 1);
  store_little_endian(mask_crc(crc32c(as_bytes(content))),
                      reinterpret_cast<std::byte*>(head.data()) + 4);
  return head + stored;
}

// A block written by Google's library, with literals and copies, and one that is not compressed.
std::string snappy_stream() {
  const std::string block = from_hex(
      "c00104300009013095f5d05f7265636f72642030789a01000c3137efbe4a400000319a3f001078622a107a4a4000"
      "0432789a01000cfe8ad108");
  std::string more;
  append_framed(as_bytes("more"), more);
  return from_hex("ff060000734e61507059") + chunk('\0', block, three_records()) +
         from_hex("fe030000000000") + from_hex("ff060000734e61507059") + chunk('\1', more, more);
}

TEST(MoreCompressions, Snappy) {
  std::vector<std::string> expected = records_of(three_records());
  expected.emplace_back("more");
  EXPECT_EQ(records_of(snappy_stream()), expected);
  EXPECT_EQ(records_of(compressed(snappy_stream(), Compression::gzip)), expected);
}

std::string content_of(const std::string& stream) {
  const auto source = read_snappy(std::make_unique<MemorySource>(stream));
  const auto content = read_all(*source, size_t{1} << 20);
  return as_text(content);
}

TEST(MoreCompressions, DamagedSnappyIsAnErrorOrChangesNothing) {
  const std::string stream = snappy_stream();
  const std::string content = content_of(stream);
  for (size_t bit = 0; bit < 8 * stream.size(); ++bit) {
    std::string damaged = stream;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    try {
      // (A chunk's type may turn into one that is skipped.)
      const std::string left = content_of(damaged);
      EXPECT_TRUE(left == content || left.size() < content.size()) << bit;
    } catch (const Error& error) {
      EXPECT_TRUE(is_damage(error.kind()) || error.kind() == ErrorKind::unsupported) << bit;
    }
  }
  for (size_t size = 0; size < stream.size(); ++size) {
    try {
      EXPECT_TRUE(content.starts_with(content_of(stream.substr(0, size))));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::truncated) << size;
    }
  }
}

}  // namespace
}  // namespace recordpipe
