// Tests making Examples from CSV and writing features as cells, using only the public headers.
#include "recordpipe/toolkit/csv_examples.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/example/message_view.h"
#include "recordpipe/toolkit/json_text.h"

namespace recordpipe {
namespace {

class TextSource final : public ByteSource {
 public:
  explicit TextSource(std::string text) : text_(std::move(text)) {}

  size_t read(std::span<std::byte> out) override {
    const size_t count = std::min(out.size(), text_.size() - place_);
    std::memcpy(out.data(), text_.data() + place_, count);
    place_ += count;
    return count;
  }
  const std::string& path() const override { return path_; }

 private:
  const std::string text_;
  const std::string path_ = "a.csv";
  size_t place_ = 0;
};

class TextSink final : public ByteSink {
 public:
  std::string text;

  void write(std::span<const std::byte> data) override {
    text.append(reinterpret_cast<const char*>(data.data()), data.size());
  }
  void close() override {}
  const std::string& path() const override { return path_; }

 private:
  const std::string path_ = "b.csv";
};

// Makes records from a CSV file, which is read twice.
std::vector<std::string> records_of(const std::string& csv, FeatureTypes types = {}) {
  CsvExamples examples(std::move(types));
  CsvTable first = examples.open(std::make_unique<TextSource>(csv));
  while (const auto row = first.next()) examples.look_at(first, *row);
  examples.end_look();
  CsvTable again = examples.open(std::make_unique<TextSource>(csv));
  EXPECT_TRUE(examples.has_types(again));
  std::vector<std::string> records;
  while (const auto row = again.next()) records.push_back(examples.record(again, *row));
  examples.require_columns();
  return records;
}

MessageView message_of(const std::string& record) {
  MessageView message;
  message.read(std::as_bytes(std::span(record)));
  return message;
}

std::string features_of(const std::string& record) {
  JsonText json;
  json.features(message_of(record).features());
  return json.take();
}

std::string csv_complaint(const std::string& csv, const FeatureTypes& types = {}) {
  try {
    records_of(csv, types);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

const std::string kTable =
    "code,id,list,text,x\r\n"
    "\"7\",1,\"[1, 2]\",\"a, \"\"b\"\"\",0.5\r\n"
    ",2,[3],\"{\"\"base64\"\": \"\"/wA=\"\"}\",nan\r\n";

TEST(CsvExamples, TypesAreThoseThatAllCellsFit) {
  const auto records = records_of(kTable);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(features_of(records[0]),
            R"({"code": ["7"], "id": [1], "list": [1, 2], "text": ["a, \"b\""], "x": [0.5]})");
  EXPECT_EQ(features_of(records[1]),
            R"({"id": [2], "list": [3], "text": [{"base64": "/wA="}], "x": [NaN]})");
}

TEST(CsvExamples, TypesThatWereGivenGoFirst) {
  const auto records = records_of("id\n1\n", {.kinds = {{"id", "float"}}});
  EXPECT_EQ(features_of(records.at(0)), R"({"id": [1.0]})");
}

TEST(CsvExamples, WrittenCellsGiveTheSameFeatures) {
  for (const std::string& record : records_of(kTable)) {
    const MessageView message = message_of(record);
    TextSink sink;
    for (const NamedFeature& named : message.features()) {
      sink.text += sink.text.empty() ? "" : ",";
      write_csv_feature(named.feature, sink);
    }
    std::string header;
    for (const NamedFeature& named : message.features()) {
      header.append(header.empty() ? "" : ",").append(named.name);
    }
    EXPECT_EQ(records_of(header + "\n" + sink.text + "\n").at(0), record) << sink.text;
  }
}

TEST(CsvExamples, Mistakes) {
  EXPECT_EQ(csv_complaint("a,a\n1,2\n"), "a.csv: line 1: two columns named \"a\"");
  EXPECT_EQ(csv_complaint("a,b\n1\n"), "a.csv: line 2: 1 cell, where the header has 2");
  EXPECT_EQ(csv_complaint("a\n1\n", {.kinds = {{"b", "float"}}, .called = "--types"}),
            "--types names b, which is no column");
  EXPECT_EQ(
      csv_complaint("a\n16777217\n0.5\n"),
      "a.csv: line 2: column a: 16777217 is a whole number that a float, which all cells of "
      "the column fit, can't represent exactly (types a=float rounds it, types a=bytes keeps its "
      "digits)");
  EXPECT_EQ(csv_complaint("a\n1\n1e39\n", {.called = "--types"}),
            "a.csv: line 3: column a: 1e39 is out of the range of float (--types a=bytes keeps its "
            "digits)");
  EXPECT_EQ(csv_complaint("id,\"a\"\"\xe9\"\n1,2\n"),
            "a.csv: line 1, byte 8: the column name \"a\"\\xe9\" is not UTF-8, as the names of "
            "features must be (convert it to UTF-8, for example with iconv)");
  EXPECT_EQ(csv_complaint("a\nx\n", {.kinds = {{"a", "int64"}}}),
            "a.csv: line 2: column a: \"x\" is no int64");
}

}  // namespace
}  // namespace recordpipe
