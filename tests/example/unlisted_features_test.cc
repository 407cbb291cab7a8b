// Features that a schema does not name, and messages without those that it names: refused, or
// counted.
#include "recordpipe/example/unlisted_features.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/example/example_builder.h"
#include "recordpipe/example/parse_example.h"
#include "recordpipe/example/parse_sequence_example.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"

namespace recordpipe {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const ExampleSchema kOnlyA = {{"a", Ragged{FeatureKind::int64s}}};

std::string example_of(const std::vector<std::string>& names) {
  ExampleBuilder builder;
  for (const std::string& name : names) builder.set_int64(name, 1);
  return builder.serialize();
}

// The feature list "steps", with one step.
std::string steps() { return from_hex("12 12 0a10 0a05 7374657073 1207 0a05 1a03 0a0101"); }

TEST(UnlistedFeatures, AreRefusedWithTheRecordsPlace) {
  const auto watch = std::make_shared<UnlistedFeatures>(
      UnlistedFeatures::Options{.known = {"known"}, .looked_into = 1000, .hint = "name it"});
  const ExampleCollator collator(kOnlyA, watch);
  const std::string good = example_of({"a", "known"});
  const std::string bad = example_of({"a", "b"});
  parse_single_example({.data = as_bytes(good)}, collator);
  const Record record{.data = as_bytes(bad), .offset = 7, .path = "f.tfrecord"};
  const Error error = error_of([&] { parse_single_example(record, collator); });
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_EQ(error.path(), "f.tfrecord");
  EXPECT_EQ(error.offset(), 7u);
  EXPECT_THAT(error.reason(), HasSubstr("feature 'b', which was not found in the first 1,000 "
                                        "records, is in the record"));
  EXPECT_EQ(error.hint(), "name it");
  EXPECT_EQ(collator.parameters()[0].value, ExampleCollator(kOnlyA).parameters()[0].value);
}

TEST(UnlistedFeatures, AreCountedOncePerRecord) {
  const auto watch = std::make_shared<UnlistedFeatures>(
      UnlistedFeatures::Options{.answer = UnlistedFeatures::Answer::count});
  const ExampleCollator collator(kOnlyA, watch);
  const std::string twice = example_of({"b"}) + example_of({"a", "b", "c"});
  std::vector<Record> records(3, {.data = as_bytes(twice), .offset = 5, .path = "f"});
  parse_example(records, collator);
  ASSERT_TRUE(watch->has_counts());
  const UnlistedFeatures::Counts counts = watch->take();
  EXPECT_EQ(counts.size(), 2u);
  EXPECT_EQ(counts.at("feature 'b'").records, 3u);
  EXPECT_EQ(counts.at("feature 'c'").path, "f");
  EXPECT_EQ(counts.at("feature 'c'").offset, 5u);
  EXPECT_THAT(watch->take(), IsEmpty());
}

TEST(UnlistedFeatures, TheCountsAreBounded) {
  UnlistedFeatures watch({.answer = UnlistedFeatures::Answer::count});
  watch.count(std::vector{std::string(UnlistedFeatures::kMaxNameBytes + 1, 'x')}, {});
  for (size_t i = 0; i < 2 * UnlistedFeatures::kMaxNames; ++i) {
    watch.count(std::vector{std::to_string(i)}, {});
  }
  const UnlistedFeatures::Counts counts = watch.take();
  EXPECT_EQ(counts.size(), UnlistedFeatures::kMaxNames);
  EXPECT_EQ(counts.at("a feature of another name").records, UnlistedFeatures::kMaxNames + 2);
}

TEST(UnlistedFeatures, AFeatureListIsOneInExamplesAndInSequences) {
  const auto watch = std::make_shared<UnlistedFeatures>(UnlistedFeatures::Options{});
  const std::string sequence = example_of({"a"}) + steps();
  const Record record{.data = as_bytes(sequence)};
  const auto reason = [&](const auto& parse) { return error_of(parse).reason(); };
  EXPECT_THAT(reason([&] { parse_single_example(record, ExampleCollator(kOnlyA, watch)); }),
              HasSubstr("feature list 'steps'"));
  const SequenceExampleCollator context({.context = kOnlyA}, watch);
  EXPECT_THAT(reason([&] { parse_single_sequence_example(record, context); }),
              HasSubstr("feature list 'steps'"));
  const SequenceExampleCollator all(
      {.context = kOnlyA, .feature_lists = {{"steps", Ragged{FeatureKind::int64s}}}}, watch);
  EXPECT_EQ(parse_single_sequence_example(record, all).size(), 1u);
  const std::string more = sequence + example_of({"late"});
  const Record other{.data = as_bytes(more)};
  EXPECT_THAT(reason([&] { parse_single_sequence_example(other, all); }),
              HasSubstr("feature 'late'"));
}

TEST(OtherMessages, AreRefusedIfTheyHaveNoneOfTheFeatures) {
  const ExampleCollator accepting(kOnlyA);
  const ExampleCollator refusing(kOnlyA, nullptr, OtherMessages::refuse);
  const std::string field = from_hex("2801");
  for (const std::string& good : {example_of({"a"}) + field, example_of({"b"}), std::string()}) {
    EXPECT_EQ(parse_single_example({.data = as_bytes(good)}, refusing).size(), 1u);
  }
  for (const std::string& other : {field, example_of({"b"}) + field, steps()}) {
    const Record record{.data = as_bytes(other), .offset = 7, .path = "f.tfrecord"};
    EXPECT_EQ(parse_single_example(record, accepting).size(), 1u);
    const Error error = error_of([&] { parse_single_example(record, refusing); });
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_EQ(error.offset(), 7u);
    EXPECT_THAT(error.reason(), HasSubstr("a record that is no Example ("));
  }
}

}  // namespace
}  // namespace recordpipe
