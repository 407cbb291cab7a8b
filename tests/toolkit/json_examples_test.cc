// Tests conversions from JSON to records and back, using only the public headers.
#include "recordpipe/toolkit/json_examples.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/example/message_view.h"
#include "recordpipe/toolkit/record_json.h"

namespace recordpipe {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string record_of(std::string_view line, const FeatureTypes& types = {}) {
  return JsonExamples(types).record(line, {.file = 0, .line = 1});
}

// Returns the output of record_json.h for a record.
std::string json_of(const std::string& record) {
  MessageView message;
  message.read(bytes_of(record));
  JsonText json;
  append_record_json(
      {.number = 7, .record = {.data = bytes_of(record), .offset = 21}, .message = message}, json);
  return json.take();
}

TEST(JsonExamples, OfAPlainObject) {
  const std::string record = record_of(
      R"({"label": 3, "box": [0.5, 1], "name": "cat", "image": {"base64": "/wA="}, "no": null})");
  EXPECT_EQ(json_of(record), R"({"record": 7, "offset": 21, "features": {"box": [0.5, 1.0], )"
                             R"("image": [{"base64": "/wA="}], "label": [3], "name": ["cat"]}})"
                             "\n");
}

TEST(JsonExamples, GiveBackWhatWasWritten) {
  const std::vector<std::string> lines = {
      R"({"record": 7, "offset": 21, "features": {"a": [], "x": [NaN, -Infinity, 1e-45]}, )"
      R"("kinds": {"a": "int64"}})",
      R"({"record": 7, "offset": 21, "features": {"id": ["é\"\n"]}, "feature_lists": )"
      R"({"words": [["a"], [], null]}, "step_kinds": {"words": [null, "bytes", null]}})",
      R"({"record": 7, "offset": 21, "payload": "no message"})",
  };
  for (const std::string& line : lines) EXPECT_EQ(json_of(record_of(line)), line + "\n");
}

TEST(JsonExamples, TypesGoBeforeValues) {
  EXPECT_EQ(json_of(record_of(R"({"x": 3})", {.kinds = {{"x", "float"}}})),
            "{\"record\": 7, \"offset\": 21, \"features\": {\"x\": [3.0]}}\n");
}

TEST(JsonExamples, ErrorsCallTheTypesByTheirName) {
  const auto hint_of = [](const FeatureTypes& types) {
    try {
      record_of(R"({"x": [16777217, 0.5]})", types);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::corrupted);
      return error.hint();
    }
    return std::string("none");
  };
  EXPECT_EQ(hint_of({}), "types x=float rounds it");
  EXPECT_EQ(hint_of({.called = "--types"}), "--types x=float rounds it");
}

TEST(JsonSurvey, OneKindInPlainLines) {
  const std::vector<std::string> paths = {"a.jsonl"};
  const FeatureTypes types;
  JsonExamples examples(types);
  examples.record(R"({"x": 3})", {.file = 0, .line = 1});
  examples.record(R"({"x": 0.5})", {.file = 0, .line = 2});
  JsonSurvey all;
  try {
    all.append(examples.survey(), paths);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "a.jsonl: line 2: \"x\" is float, where line 1 has int64 (readers of the "
                 "records expect one kind: types x=float makes it one)");
  }
}

}  // namespace
}  // namespace recordpipe
