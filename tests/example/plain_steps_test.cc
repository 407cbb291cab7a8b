// Steps in the usual encoding, compared with those that the general parser reads.
#include "dataset/example/plain_steps.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/example/internal/feature_reader.h"
#include "tests/support/bytes.h"

namespace recordpipe {
namespace {

std::string field_of(uint32_t number, const std::string& content) {
  std::string out(1, static_cast<char>(length_delimited_tag(number)));
  size_t size = content.size();
  for (; size >= 0x80; size >>= 7) out += static_cast<char>(size | 0x80);
  return (out += static_cast<char>(size)) + content;
}

std::string plain_step(FeatureKind kind, const std::string& values) {
  return field_of(kFeatureListFeature,
                  field_of(static_cast<uint32_t>(kind), field_of(kListValue, values)));
}

struct StepsRead {
  bool all = false;
  std::vector<std::string> values;
};

// The list begins 8 bytes after its record, as after its headers, and nothing may be read behind
// it.
template <FeatureKind kind>
StepsRead read_steps_of(const std::string& list) {
  const std::vector<char> record = [&] {
    std::vector<char> bytes(8, '\xff');
    bytes.insert(bytes.end(), list.begin(), list.end());
    bytes.shrink_to_fit();
    return bytes;
  }();
  StepsRead read;
  read.all = read_plain_steps<kind>(std::as_bytes(std::span(record).subspan(8)),
                                    [&](std::span<const std::byte> values) {
                                      read.values.push_back(as_text(values));
                                      return true;
                                    });
  return read;
}

TEST(PlainSteps, OfEachSize) {
  for (size_t size = 0; size < 300; ++size) {
    const std::string values(size, 'v');
    // As the first step, the last, and among others of the same and of another size.
    std::string list;
    std::vector<std::string> expected;
    for (const std::string& step : {values, values, std::string("w"), values}) {
      list += plain_step(FeatureKind::floats, step);
      expected.push_back(step);
      const StepsRead read = read_steps_of<FeatureKind::floats>(list);
      ASSERT_TRUE(read.all) << size;
      ASSERT_EQ(read.values, expected) << size;
    }
    const StepsRead other = read_steps_of<FeatureKind::int64s>(list);
    EXPECT_FALSE(other.all);
    EXPECT_TRUE(other.values.empty());
  }
}

TEST(PlainSteps, EndWhereTheListEnds) {
  for (const size_t size : {0, 1, 4, 28, 123, 124, 200}) {
    const std::string step = plain_step(FeatureKind::floats, std::string(size, 'v'));
    const std::string list = step + step + step;
    for (size_t cut = 0; cut <= list.size(); ++cut) {
      const StepsRead read = read_steps_of<FeatureKind::floats>(list.substr(0, cut));
      EXPECT_EQ(read.all, cut % step.size() == 0) << size << " cut to " << cut;
      EXPECT_EQ(read.values.size(), cut / step.size()) << size << " cut to " << cut;
    }
  }
}

TEST(PlainSteps, AnEmptyListOfNumbersIsOne) {
  const std::string empty = field_of(1, field_of(kFeatureInt64List, ""));
  const std::string one = plain_step(FeatureKind::int64s, "\x05");
  const StepsRead read = read_steps_of<FeatureKind::int64s>(empty + one + empty + empty);
  EXPECT_TRUE(read.all);
  EXPECT_EQ(read.values, (std::vector<std::string>{"", "\x05", "", ""}));
  EXPECT_FALSE(read_steps_of<FeatureKind::floats>(empty).all);
  // An empty list of bytes has no value, unlike one with an empty value.
  EXPECT_FALSE(read_steps_of<FeatureKind::bytes>(field_of(1, field_of(1, ""))).all);
  EXPECT_TRUE(read_steps_of<FeatureKind::bytes>(plain_step(FeatureKind::bytes, "")).all);
}

// What is accepted must be what the general parser finds: every byte of the headers is changed to
// every value.
TEST(PlainSteps, NoOtherHeadersAreAccepted) {
  const std::string usual = plain_step(FeatureKind::int64s, "\x07\x08") +
                            plain_step(FeatureKind::int64s, "\x09") +
                            plain_step(FeatureKind::int64s, std::string(130, '\x01'));
  size_t accepted = 0;
  for (size_t at = 0; at < 24; ++at) {
    for (int value = 0; value < 256; ++value) {
      std::string list = usual;
      list[at] = static_cast<char>(value);
      const StepsRead read = read_steps_of<FeatureKind::int64s>(list);
      if (!read.all) continue;
      ++accepted;
      std::vector<std::string> expected;
      ASSERT_NO_THROW(read_messages(WireReader(as_bytes(list)), kFeatureListFeature,
                                    [&](WireReader step) {
                                      std::string values;
                                      read_feature(step, [&](FeatureKind kind, WireReader packed) {
                                        ASSERT_EQ(kind, FeatureKind::int64s);
                                        while (!packed.done()) {
                                          ASSERT_EQ(packed.read_tag(),
                                                    length_delimited_tag(kListValue));
                                          values += as_text(packed.read_bytes());
                                        }
                                      });
                                      expected.push_back(values);
                                    }))
          << to_hex(list);
      ASSERT_EQ(read.values, expected) << to_hex(list);
    }
  }
  EXPECT_GT(accepted, 500u);  // the values may be anything
}

TEST(PlainSteps, TheVisitorMayStop) {
  const std::string list =
      plain_step(FeatureKind::bytes, "a") + plain_step(FeatureKind::bytes, "b");
  const std::string record = std::string(8, '\xff') + list;
  size_t steps = 0;
  EXPECT_FALSE(read_plain_steps<FeatureKind::bytes>(
      as_bytes(record).subspan(8), [&](std::span<const std::byte>) { return ++steps < 1; }));
  EXPECT_EQ(steps, 1u);
}

}  // namespace
}  // namespace recordpipe
