// Tests reading on after damage in compressed streams: the content, and that reading ends.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataset/io/compression/lost_content.h"
#include "recordpipe/base/error.h"
#include "tests/io/compression_engines.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;
using testing::Gt;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;
using testing::Ne;
using testing::Pair;

// The content that was read with read_on_after_damage; the number of errors, and their reasons.
struct ReadOn {
  std::string content;
  size_t errors = 0;
  std::string reasons;
};

ReadOn read_on(const Engine& engine, const std::string& compressed, size_t piece = 100000) {
  const auto source = inflate_by(engine.make(), std::make_unique<MemorySource>(compressed),
                                 engine.format, {.read_on_after_damage = true});
  ReadOn result;
  std::vector<std::byte> part(piece);
  while (true) {
    try {
      const size_t count = source->read(part);
      if (count == 0) return result;
      result.content += as_text(std::span(part).first(count));
    } catch (const Error& error) {
      result.errors += 1;
      result.reasons += error.reason();
      if (!is_damage(error.kind())) throw;  // would loop forever
    }
  }
}

class ReadingOn : public EngineTest {};
INSTANTIATE_TEST_SUITE_P(Engines, ReadingOn,
                         testing::ValuesIn(engines_for({Compression::gzip, Compression::zstd})),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(ReadingOn, EveryOtherMemberComesWhereverOneIsDamaged) {
  const std::string first = sample_content(3000), third(2000, 'z');
  const std::string damaged = deflated(sample_content(1000) + std::string(300, 'a'), {format()});
  const std::string before = deflated(first, {format()}), after = deflated(third, {format()});
  const ReadOn whole = read_on(GetParam(), before + damaged + after);
  EXPECT_EQ(whole.errors, 0u);
  for (size_t at = 0; at < damaged.size(); ++at) {
    for (const char change : {'\x01', '\x40', '\xff'}) {
      std::string changed = damaged;
      changed[at] = static_cast<char>(changed[at] ^ change);
      const ReadOn result = read_on(GetParam(), before + changed + after);
      EXPECT_TRUE(result.content.starts_with(first)) << at;
      EXPECT_TRUE(result.content.ends_with(third)) << at;
      // The time and the system in a gzip header may have any value.
      EXPECT_TRUE(result.errors > 0 || result.content == whole.content) << at;
    }
  }
}

TEST_P(ReadingOn, WhatIsCutOutIsPassedOver) {
  const std::string one = deflated(sample_content(500000), {format()});
  const std::string last = deflated("last", {format()});
  for (const size_t left : {size_t{1}, size_t{9}, one.size() / 2, one.size() - 1}) {
    for (const size_t piece : {size_t{1000}, size_t{100000}}) {
      const ReadOn result =
          read_on(GetParam(), one.substr(0, left) + last + "garbage" + last, piece);
      EXPECT_TRUE(result.content.ends_with("lastlast")) << left;
      EXPECT_GE(result.errors, 1u);
    }
  }
  EXPECT_EQ(read_on(GetParam(), one.substr(0, 100)).errors, 1u);
}

// A member seems to start every 11 bytes, and each seems to contain more than everything before it.
TEST_P(ReadingOn, TakesLinearTimeForMembersWithinMembers) {
  const std::string head = deflated(std::string(40 << 20, '\0'), {format()}).substr(0, 40);
  std::string starts;
  while (starts.size() < (1 << 18)) starts += head.substr(0, 11);
  const ReadOn result = read_on(GetParam(), head + starts);
  EXPECT_LT(result.content.size(), size_t{50} << 20);
}

// The source fails, for example because the connection breaks.
TEST_P(ReadingOn, EndsWhereTheSourceFails) {
  class BrokenSource final : public ByteSource {
   public:
    explicit BrokenSource(std::string start) : start_(std::move(start)) {}
    size_t read(std::span<std::byte> out) override {
      if (const size_t count = start_.read(out)) return count;
      throw Error({.kind = ErrorKind::truncated, .reason = "the connection was closed"});
    }
    const std::string& path() const override { return start_.path(); }

   private:
    MemorySource start_;
  };
  const std::string whole = deflated(sample_content(3000), {format()});
  for (const size_t left : {whole.size(), whole.size() / 2}) {
    const auto source =
        inflate_by(GetParam().make(), std::make_unique<BrokenSource>(whole.substr(0, left)),
                   format(), {.read_on_after_damage = true});
    std::vector<std::byte> part(100000);
    EXPECT_THAT(error_of([&] {
                  while (source->read(part) > 0) {
                  }
                }).what(),
                HasSubstr("closed"));
    EXPECT_EQ(source->read(part), 0u);
  }
}

// The losses of all errors: bytes, and the size of the file if these are its rest.
std::vector<std::pair<uint64_t, std::optional<uint64_t>>> losses_of(const Engine& engine,
                                                                    const std::string& compressed) {
  const auto source = inflate_by(engine.make(), std::make_unique<MemorySource>(compressed),
                                 engine.format, {.read_on_after_damage = true});
  std::vector<std::pair<uint64_t, std::optional<uint64_t>>> losses;
  std::vector<std::byte> part(100);
  while (true) {
    try {
      if (source->read(part) == 0) return losses;
    } catch (const LostContent& error) {
      losses.emplace_back(error.lost(), error.size());
    }
  }
}

TEST_P(ReadingOn, SaysWhatIsLost) {
  const std::string one = deflated(sample_content(5000), {format()});
  const std::string garbage(1000, 'x');
  EXPECT_THAT(losses_of(GetParam(), one + one), IsEmpty());
  EXPECT_THAT(losses_of(GetParam(), one + garbage + one), ElementsAre(Pair(1000u, std::nullopt)));
  EXPECT_THAT(losses_of(GetParam(), one + garbage),
              ElementsAre(Pair(1000u, one.size() + garbage.size())));
  // Starts of members that contain nothing.
  const std::string starts = one.substr(0, 4) + garbage + one.substr(0, 4) + garbage;
  EXPECT_THAT(losses_of(GetParam(), one + garbage + starts + one),
              ElementsAre(Pair(3008u, std::nullopt)));
  // What is wrong about a trailer is no lost content.
  std::string wrong = one;
  wrong.back() ^= 0x55;
  EXPECT_THAT(losses_of(GetParam(), wrong), ElementsAre(Pair(0u, Ne(std::nullopt))));
}

// Damage of the last bytes of a member before an intact one, too: compressed bytes are lost unless
// all of them were decoded, and only the checksum tells.
TEST_P(ReadingOn, DamageAtTheEndOfAMemberLosesBytes) {
  const std::string content = sample_content(500);
  const std::string one = deflated(content, {format()});
  for (size_t at = 0; at < one.size(); ++at) {
    std::string changed = one;
    changed[at] = static_cast<char>(changed[at] ^ '\xff');
    const ReadOn result = read_on(GetParam(), one + changed + one);
    if (result.content.size() >= 3 * content.size()) continue;
    const auto losses = losses_of(GetParam(), one + changed + one);
    ASSERT_THAT(losses, ElementsAre(Pair(Le(one.size()), std::nullopt))) << at;
    const bool all_decoded = result.reasons.find("check") != std::string::npos;
    EXPECT_TRUE(losses.front().first > 0 || all_decoded) << at << ": " << result.reasons;
  }
}

// A block of zstd is decoded as a whole, or not at all.
TEST_P(ReadingOn, BlocksThatAreCutOffAreLost) {
  const std::string one = deflated(sample_content(5000), {format()});
  const std::string cut = one.substr(0, one.size() - 100);
  const auto losses = losses_of(GetParam(), cut);
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_EQ(losses.front().second, cut.size());
  if (format() == Compression::zstd) {
    EXPECT_GT(losses.front().first, 2000u);
  }
}

TEST(ReadingOnZlib, EndsAtTheDamage) {
  std::string stream = deflated(sample_content(100000), {Compression::zlib});
  stream[1000] ^= 0x55;
  const Engine zlib = engines_for({Compression::zlib}).front();
  EXPECT_EQ(read_on(zlib, stream + stream).errors, 1u);
  EXPECT_THAT(losses_of(zlib, stream + stream), ElementsAre(Pair(Gt(0u), 2 * stream.size())));
}

}  // namespace
}  // namespace recordpipe
