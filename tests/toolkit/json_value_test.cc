// Tests tfrecord's JSON reader: the kinds of numbers, and rejected input.
#include "dataset/toolkit/formats/json_value.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

using Kind = JsonValue::Kind;

std::string reason_of(std::string_view json) {
  try {
    parse_json(json);
  } catch (const Error& error) {
    return error.reason();
  }
  return "";
}

TEST(JsonValue, KeepsIntegersApartFromFloats) {
  const JsonValue value = parse_json(R"([1, -9223372036854775808, 1.0, 1e2, true, null, "1"])");
  ASSERT_EQ(value.items.size(), 7u);
  EXPECT_EQ(value.items[0].kind, Kind::integer);
  EXPECT_EQ(value.items[1].integer, INT64_MIN);
  EXPECT_EQ(value.items[2].kind, Kind::floating);
  EXPECT_EQ(value.items[2].text, "1.0");
  EXPECT_EQ(value.items[3].text, "1e2");
  EXPECT_EQ(value.items[4].integer, 1);
  EXPECT_EQ(value.items[5].kind, Kind::null);
  EXPECT_EQ(value.items[6].text, "1");
}

TEST(JsonValue, ReadsWhatPythonWritesForNumbersThatAreNotFinite) {
  const JsonValue value = parse_json(
      R"({"NaN": [0, NaN, -1.5, Infinity, -Infinity, "NaN", "a\"NaN", true, 7], "e": Infinity})");
  const auto& items = value.find("NaN")->items;
  ASSERT_EQ(items.size(), 9u);
  EXPECT_EQ(items[0].kind, Kind::integer);
  EXPECT_EQ(items[1].kind, Kind::floating);
  EXPECT_EQ(items[1].text, "NaN");
  EXPECT_EQ(items[2].text, "-1.5");
  EXPECT_EQ(items[3].text, "Infinity");
  EXPECT_EQ(items[4].text, "-Infinity");
  EXPECT_EQ(items[5].kind, Kind::string);
  EXPECT_EQ(items[6].text, "a\"NaN");
  EXPECT_EQ(items[8].integer, 7);
  EXPECT_EQ(value.find("e")->text, "Infinity");
}

TEST(JsonValue, SaysWhereJsonEndsToBeJson) {
  EXPECT_THAT(reason_of(R"({"a": NaN, "b": x})"), testing::HasSubstr("byte 17"));
  EXPECT_THAT(reason_of(R"({"a": 0.0, "b": x})"), testing::HasSubstr("byte 17"));
  EXPECT_NE(reason_of("NaNNaN"), "");
  EXPECT_NE(reason_of(R"({"a": "NaN)"), "");
}

TEST(JsonValue, RefusesOtherWordsForNumbersThatAreNotFinite) {
  for (const std::string_view word :
       {"-NaN", "+NaN", "nan", "NaN0", "1NaN", "NaN.5", "NaNNaN", "-", "--Infinity", "+Infinity",
        "Infinity2", "-Infinity.0", "2Infinity", "inf", "Infinit", "NaN1e5", "-NaN1"}) {
    const std::string list = "[1, " + std::string(word) + ", 2]";
    EXPECT_THAT(reason_of(list), testing::HasSubstr("invalid JSON at byte")) << list;
    // A valid constant in the same list makes no difference.
    const std::string beside = "[1, NaN, " + std::string(word) + ", 2]";
    EXPECT_THAT(reason_of(beside), testing::HasSubstr("invalid JSON at byte")) << beside;
  }
}

TEST(JsonValue, DoesNotEndAtANul) {
  constexpr std::string_view kBehind("{\"a\": 1}\0{\"a\": 2", 16);
  EXPECT_EQ(reason_of(kBehind), "invalid JSON at byte 9: a NUL byte");
  constexpr std::string_view kInside("{\"a\": \"x\0y\"}", 12);
  EXPECT_EQ(reason_of(kInside), "invalid JSON at byte 9: a NUL byte");
}

TEST(JsonValue, KeepsTheDigitsOfWholeNumbersBeyondInt64) {
  const JsonValue value =
      parse_json("[9223372036854775808, NaN, -99999999999999999999, 1e20, 9223372036854775807]");
  EXPECT_EQ(value.items[0].text, "9223372036854775808");
  EXPECT_TRUE(value.items[0].is_beyond_int64());
  EXPECT_FALSE(value.items[1].is_beyond_int64());
  EXPECT_TRUE(value.items[2].is_beyond_int64());
  EXPECT_FALSE(value.items[3].is_beyond_int64());
  EXPECT_FALSE(value.items[4].is_beyond_int64());
}

TEST(JsonValue, RefusesAMemberTwiceAndWhatDoesNotFit) {
  EXPECT_EQ(reason_of(R"({"a": 1, "b": 2, "a": 3})"), "\"a\" twice");
  EXPECT_EQ(reason_of(R"({"a": [1, -1e400]})"), R"("a": -1e400 is out of the range of float)");
  EXPECT_EQ(reason_of("1e400"), "1e400 is out of the range of float");
  EXPECT_EQ(reason_of("[[[[[[[[[1]]]]]]]]]"), "nested too deeply");
}

// If each name were compared with all earlier names, this test would take minutes.
TEST(JsonValue, TakesAHundredThousandMembers) {
  std::string json = "{";
  for (int i = 0; i < 200'000; ++i) json += "\"name" + std::to_string(i) + "\":1,";
  json.back() = '}';
  EXPECT_EQ(parse_json(json).members.size(), 200'000u);
}

}  // namespace
}  // namespace recordpipe
