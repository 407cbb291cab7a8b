// Checks tfrecord's JSON writer with nlohmann's parser.
#include "recordpipe/toolkit/json_text.h"

#include <cmath>
#include <limits>
#include <random>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "recordpipe/example/example_builder.h"
#include "tests/support/bytes.h"

namespace recordpipe {
namespace {

template <typename Write>
std::string written(Write write) {
  JsonText json;
  write(json);
  return json.text();
}

std::string as_string(std::string_view text) {
  return written([&](JsonText& json) { json.string(text); });
}
std::string as_value(std::string_view bytes) {
  return written([&](JsonText& json) { json.bytes(as_bytes(bytes)); });
}
template <typename Number>
std::string as_number(Number value) {
  return written([&](JsonText& json) { json.number(value); });
}

TEST(JsonText, Strings) {
  EXPECT_EQ(as_string(""), R"("")");
  EXPECT_EQ(as_string("a \"b\" \\ c\n\t\r/"), R"("a \"b\" \\ c\n\t\r/")");
  EXPECT_EQ(as_string("12345678\"2345678\\2345678\n"), R"("12345678\"2345678\\2345678\n")");
  EXPECT_EQ(as_string("\x01\x7f"), R"("\u0001\u007f")");
  EXPECT_EQ(as_string("naïve 漢字 🙂"), "\"naïve 漢字 🙂\"");
  EXPECT_EQ(as_string("a\xff"
                      "b"),
            "\"a\xef\xbf\xbd"
            "b\"");
}

TEST(JsonText, AnyStringReadsBack) {
  std::mt19937 random(1);
  for (int i = 0; i < 5000; ++i) {
    std::string text;
    for (size_t size = random() % 40; size > 0; --size) {
      const auto kind = random() % 8;
      if (kind == 0) {
        text += "é";
      } else {
        text += static_cast<char>(kind == 1 ? random() % 32 : 32 + random() % 96);
      }
    }
    EXPECT_EQ(nlohmann::json::parse(as_string(text)), text);
  }
}

TEST(JsonText, TextIsUtf8WithoutControlCharacters) {
  for (const char* text :
       {"", "cat", "two\nlines\r\n\tindented", "naïve", "\xc2\xa0", "12345678é"}) {
    EXPECT_TRUE(is_text(as_bytes(text))) << text;
  }
  for (const std::string& bytes :
       {std::string(1, '\0'), std::string("12345678\0", 9), std::string("1234567\x1f"),
        std::string("\x7f"), std::string("1234567\x7f"), std::string("\xff\xd8\xff"),
        std::string("\xc2\x85"), std::string("\xc3")}) {
    EXPECT_FALSE(is_text(as_bytes(bytes))) << to_hex(bytes);
  }
  EXPECT_EQ(as_value("cat"), R"("cat")");
  EXPECT_EQ(as_value("\xff"), R"({"base64": "/w=="})");
}

TEST(JsonText, Base64) {
  // The test vectors of RFC 4648, section 10, and one with + and /.
  const auto of = [](std::string_view text) {
    return written([&](JsonText& json) { json.base64(as_bytes(text)); });
  };
  EXPECT_EQ(of(""), R"({"base64": ""})");
  EXPECT_EQ(of("f"), R"({"base64": "Zg=="})");
  EXPECT_EQ(of("fo"), R"({"base64": "Zm8="})");
  EXPECT_EQ(of("foo"), R"({"base64": "Zm9v"})");
  EXPECT_EQ(of("foob"), R"({"base64": "Zm9vYg=="})");
  EXPECT_EQ(of("fooba"), R"({"base64": "Zm9vYmE="})");
  EXPECT_EQ(of("foobar"), R"({"base64": "Zm9vYmFy"})");
  EXPECT_EQ(of("\xfb\xff\xfe"), R"({"base64": "+//+"})");
}

TEST(JsonText, Numbers) {
  EXPECT_EQ(as_number(std::numeric_limits<int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(as_number(std::numeric_limits<uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(as_number(1.0f), "1.0");
  EXPECT_EQ(as_number(-0.0f), "-0.0");
  EXPECT_EQ(as_number(0.1f), "0.1");
  EXPECT_EQ(as_number(0.1), "0.1");
  EXPECT_EQ(as_number(16777216.0f), "16777216.0");
  EXPECT_EQ(as_number(1e20f), "1e+20");
  EXPECT_EQ(as_number(std::numeric_limits<float>::quiet_NaN()), "NaN");
  EXPECT_EQ(as_number(std::numeric_limits<float>::infinity()), "Infinity");
  EXPECT_EQ(as_number(-std::numeric_limits<float>::infinity()), "-Infinity");
}

TEST(JsonText, FloatsReadBackAsTheSameFloats) {
  std::mt19937 random(2);
  for (int i = 0; i < 20000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (!std::isfinite(value)) continue;
    const auto read = nlohmann::json::parse(as_number(value));
    ASSERT_TRUE(read.is_number_float()) << value;
    ASSERT_EQ(static_cast<float>(read.get<double>()), value);
  }
}

TEST(JsonText, Features) {
  const std::vector<float> floats = {0.5f, 1};
  const std::vector<int64_t> none;
  const std::string example = ExampleBuilder()
                                  .set_bytes("image", "\xff\xd8")
                                  .set_int64("label", -3)
                                  .set_floats("a \"b\"", floats)
                                  .set_int64s("none", none)
                                  .serialize();
  MessageView message;
  message.read(as_bytes(example));
  EXPECT_EQ(written([&](JsonText& json) { json.features(message.features()); }),
            R"({"a \"b\"": [0.5, 1.0], "image": [{"base64": "/9g="}], "label": [-3], "none": []})");
}

TEST(JsonText, SpillsWhatIsLargeInPieces) {
  std::string collected;
  size_t largest = 0;
  JsonText json([&](std::string_view piece) {
    collected += piece;
    largest = std::max(largest, piece.size());
  });
  const std::string text(1 << 20, 'x');
  const std::string bytes(1 << 20, '\xff');
  json.bytes(as_bytes(text));
  json.bytes(as_bytes(bytes));
  collected += json.text();
  EXPECT_LT(largest, 256u << 10);
  EXPECT_EQ(collected, as_value(text) + as_value(bytes));
}

}  // namespace
}  // namespace recordpipe
