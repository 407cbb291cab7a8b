// Parses SequenceExamples by another writer (see data/README.md) into columns.
#include "recordpipe/example/parse_sequence_example.h"

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/example/example_builder.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"

namespace recordpipe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string golden_sequence(const std::string& name) {
  std::ifstream in(RECORDPIPE_DATA_DIR "/golden/sequences/" + name + ".pb", std::ios::binary);
  EXPECT_TRUE(in) << name;
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

SequenceExampleBatch parse_sequences(const std::vector<std::string>& sequences,
                                     const SequenceExampleSchema& schema) {
  std::vector<Record> records;
  for (const std::string& sequence : sequences) records.push_back({.data = as_bytes(sequence)});
  return parse_sequence_example(records, SequenceExampleCollator(schema));
}

Error sequence_refusal(const std::string& sequence, const SequenceExampleSchema& schema) {
  return error_of([&] { parse_sequences({sequence}, schema); });
}

TEST(ParseSequenceExample, AContextAndStepsOfBothForms) {
  const SequenceExampleBatch batch = parse_sequences(
      {golden_sequence("steps"), golden_sequence("no-steps"), golden_sequence("steps")},
      {.context = {{"label", FixedLen{FeatureKind::int64s, {}, std::vector<int64_t>{-1}}}},
       .feature_lists = {{"frames", FixedLenSequence{FeatureKind::bytes, {}, true}},
                         {"words", Ragged{FeatureKind::int64s}}}});
  EXPECT_EQ(batch.size(), 3u);
  EXPECT_THAT(batch.context().dense<FeatureKind::int64s>("label").values, ElementsAre(3, -1, 3));

  const auto frames = batch.feature_lists().dense<FeatureKind::bytes>("frames");
  EXPECT_THAT(frames.row_splits, ElementsAre(0, 2, 2, 4));
  EXPECT_EQ(frames.item_size, 1u);
  EXPECT_EQ(as_text(frames.row(2)[0]), "one");
  EXPECT_EQ(as_text(frames.row(2)[1]), "two");

  const auto words = batch.feature_lists().ragged<FeatureKind::int64s>("words");
  EXPECT_THAT(words.row_splits, ElementsAre(0, 3, 3, 6));
  EXPECT_THAT(words.step_splits, ElementsAre(0, 2, 2, 3, 5, 5, 6));
  EXPECT_THAT(words.values, ElementsAre(1, 2, 3, 1, 2, 3));
  EXPECT_EQ(words.steps(0), 3u);
  EXPECT_THAT(words.step(2, 0), ElementsAre(1, 2));
  EXPECT_THAT(words.step(2, 1), IsEmpty());
  EXPECT_THAT(words.step(2, 2), ElementsAre(3));
}

TEST(ParseSequenceExample, ValidityTellsWhichRowsHaveAList) {
  SequenceExampleBatch batch = parse_sequences(
      {golden_sequence("steps"), golden_sequence("no-steps"), golden_sequence("steps")},
      {.context = {{"label", Ragged{FeatureKind::int64s}}},
       .feature_lists = {{"none", FixedLenSequence{FeatureKind::bytes, {}, true}},
                         {"words", Ragged{FeatureKind::int64s}}}});
  EXPECT_THAT(batch.context().validity("label"), ElementsAre(0b1111'1101));
  EXPECT_THAT(batch.feature_lists().validity("none"), ElementsAre(0b1111'1000));
  EXPECT_THAT(batch.feature_lists().validity("words"), ElementsAre(0b1111'1101));
  SequenceExampleBatch next;
  batch.exchange_scratch(next);
  EXPECT_LT(heap_bytes(batch), heap_bytes(next) + heap_bytes(batch));
  EXPECT_EQ(batch.feature_lists().ragged<FeatureKind::int64s>("words").values.size(), 6u);
}

TEST(ParseSequenceExample, AListOfTextMustBeUtf8) {
  const SequenceExampleSchema schema = {
      .feature_lists = {{"frames", FixedLenSequence{.kind = FeatureKind::bytes, .utf8 = true}}}};
  std::string steps = golden_sequence("steps");
  EXPECT_EQ(parse_sequences({steps}, schema).size(), 1u);
  steps.replace(steps.find("two"), 1, "\xff");
  EXPECT_THAT(sequence_refusal(steps, schema).what(),
              HasSubstr("feature list 'frames' holds text that is not UTF-8"));
}

TEST(ParseSequenceExample, PiecesMerge) {
  const SequenceExampleBatch batch =
      parse_sequences({golden_sequence("pieces")},
                      {.feature_lists = {{"a", FixedLenSequence{FeatureKind::int64s}},
                                         {"b", FixedLenSequence{FeatureKind::int64s}},
                                         {"c", FixedLenSequence{FeatureKind::int64s}}}});
  const auto values = [&](const char* name) {
    return batch.feature_lists().dense<FeatureKind::int64s>(name).values;
  };
  EXPECT_THAT(values("a"), ElementsAre(1));
  EXPECT_THAT(values("b"), ElementsAre(2));
  EXPECT_THAT(values("c"), ElementsAre(1, 2));  // one list in two pieces
}

TEST(ParseSequenceExample, StepsInTheUsualEncoding) {
  const SequenceExampleBatch batch =
      parse_sequences({golden_sequence("usual"), golden_sequence("usual")},
                      {.feature_lists = {{"a", FixedLenSequence{FeatureKind::int64s}},
                                         {"frames", Ragged{FeatureKind::bytes}},
                                         {"label", FixedLenSequence{FeatureKind::floats, {2}}},
                                         {"words", Ragged{FeatureKind::int64s}}}});
  const FeatureListColumns& lists = batch.feature_lists();
  EXPECT_THAT(lists.dense<FeatureKind::int64s>("a").row(1), ElementsAre(5, 300, -1));
  EXPECT_THAT(lists.dense<FeatureKind::floats>("label").row(1), ElementsAre(0.5, 1.5, 2.5, 3.5));
  const auto frames = lists.ragged<FeatureKind::bytes>("frames");
  EXPECT_THAT(frames.step_splits, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(as_text(frames.values[2]), "one");
  EXPECT_EQ(frames.values[3].size(), 200u);
  const auto words = lists.ragged<FeatureKind::int64s>("words");
  EXPECT_THAT(words.step_splits, ElementsAre(0, 2, 2, 3, 5, 5, 6));
  EXPECT_THAT(words.values, ElementsAre(1, 2, 3, 1, 2, 3));
}

TEST(ParseSequenceExample, OtherEncodingsAmongTheUsual) {
  const SequenceExampleBatch batch =
      parse_sequences({golden_sequence("unpacked-among-usual"), golden_sequence("usual")},
                      {.feature_lists = {{"a", FixedLenSequence{FeatureKind::int64s}},
                                         {"label", Ragged{FeatureKind::floats}}}});
  const FeatureListColumns& lists = batch.feature_lists();
  EXPECT_THAT(lists.dense<FeatureKind::int64s>("a").values, ElementsAre(1, 2, 3, 5, 300, -1));
  const auto label = lists.ragged<FeatureKind::floats>("label");
  EXPECT_THAT(label.step_splits, ElementsAre(0, 1, 2, 4, 6));
  EXPECT_THAT(label.values, ElementsAre(1.5, 2.5, 0.5, 1.5, 2.5, 3.5));
}

// The entries of list "k" in one FeatureLists message.
std::string lists_of_k(const std::vector<std::string>& steps_in_hex) {
  std::string entries;
  for (const std::string& hex : steps_in_hex) {
    const std::string steps = from_hex(hex);
    const auto size = static_cast<char>(steps.size());
    entries += from_hex("0a") + static_cast<char>(size + 5) + from_hex("0a01 6b 12") + size + steps;
  }
  return from_hex("12") + static_cast<char>(entries.size()) + entries;
}

// The last one wins, whichever of them has the usual encoding or fits the schema.
TEST(ParseSequenceExample, AListTwice) {
  const std::string usual = "0a05 1a030a0101 0a05 1a030a0102";
  const std::string unpacked = "0a04 1a020803";
  const std::string floats = "0a08 12060a0400000000";
  const FeatureListSchema k = {{"k", FixedLenSequence{FeatureKind::int64s}}};
  const auto values_of = [&](const std::string& first, const std::string& last) {
    const SequenceExampleBatch batch =
        parse_sequences({lists_of_k({first, last})}, {.feature_lists = k});
    const auto values = batch.feature_lists().dense<FeatureKind::int64s>("k").values;
    return std::vector<int64_t>(values.begin(), values.end());
  };
  EXPECT_THAT(values_of(usual, unpacked), ElementsAre(3));
  EXPECT_THAT(values_of(unpacked, usual), ElementsAre(1, 2));
  EXPECT_THAT(values_of(floats, usual), ElementsAre(1, 2));
  EXPECT_THAT(values_of(usual, ""), IsEmpty());
  for (const std::string& first : {usual, unpacked}) {
    EXPECT_THAT(sequence_refusal(lists_of_k({first, floats}), {.feature_lists = k}).what(),
                HasSubstr("feature list 'k' holds floats, not int64s, at step 0"));
  }
}

TEST(ParseSequenceExample, AStepThatEndsWithinAValueIsCorrupted) {
  for (const FeatureListSchema& lists :
       {FeatureListSchema{}, FeatureListSchema{{"k", FixedLenSequence{FeatureKind::int64s}}},
        FeatureListSchema{{"k", Ragged{FeatureKind::floats}}}}) {
    for (const char* step : {
             "1a030a0181",                       // a varint without its last byte
             "1a0d0a0b 8080808080808080808001",  // a varint of eleven bytes
             "12050a03000000",                   // three bytes of a float
             "1a030a0201",                       // values longer than their list
             "1a040a0101",                       // a list longer than its step
         }) {
      const std::string one = from_hex(step);
      const std::string usual = "0a05 1a030a0101";
      const std::string hex = usual + to_hex(from_hex("0a") + static_cast<char>(one.size()) + one);
      const Error error = sequence_refusal(lists_of_k({hex}), {.feature_lists = lists});
      EXPECT_EQ(error.kind(), ErrorKind::corrupted) << step;
    }
  }
}

TEST(ParseSequenceExample, StepsOfAFixedShape) {
  // Two steps of two values each; the values of the first step are unpacked.
  const std::string sequence =
      from_hex("12 17 0a 15 0a01 6b 12 10 0a 06 1a04 0801 0802 0a 06 1a04 0a02 0304");
  const SequenceExampleBatch batch = parse_sequences(
      {sequence}, {.feature_lists = {{"k", FixedLenSequence{FeatureKind::int64s, {2}}}}});
  const auto column = batch.feature_lists().dense<FeatureKind::int64s>("k");
  EXPECT_EQ(column.items(0), 2u);
  EXPECT_THAT(column.shape, ElementsAre(2u));
  EXPECT_THAT(column.row(0), ElementsAre(1, 2, 3, 4));
}

TEST(ParseSequenceExample, AMissingListIsNamedUnlessItMayBeMissing) {
  const Error error =
      sequence_refusal(golden_sequence("no-steps"),
                       {.feature_lists = {{"b", FixedLenSequence{FeatureKind::floats}}}});
  EXPECT_EQ(error.kind(), ErrorKind::not_found);
  EXPECT_THAT(error.what(), HasSubstr("feature list 'b' is missing"));
  // A feature list without steps counts as present.
  const SequenceExampleBatch batch =
      parse_sequences({golden_sequence("no-steps")},
                      {.feature_lists = {{"a", FixedLenSequence{FeatureKind::floats}},
                                         {"b", Ragged{FeatureKind::floats}}}});
  EXPECT_EQ(batch.feature_lists().dense<FeatureKind::floats>("a").items(0), 0u);
  EXPECT_EQ(batch.feature_lists().ragged<FeatureKind::floats>("b").steps(0), 0u);
}

TEST(ParseSequenceExample, AStepOfAnotherKindOrNumberIsNamed) {
  for (const FeatureListSchema& lists :
       {FeatureListSchema{{"a", FixedLenSequence{FeatureKind::int64s}}},
        FeatureListSchema{{"a", Ragged{FeatureKind::int64s}}}}) {
    const Error error = sequence_refusal(golden_sequence("kinds-differ"), {.feature_lists = lists});
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_THAT(error.what(), HasSubstr("feature list 'a' holds bytes, not int64s, at step 1"));
  }
  EXPECT_THAT(
      sequence_refusal(golden_sequence("steps"),
                       {.feature_lists = {{"words", FixedLenSequence{FeatureKind::int64s}}}})
          .what(),
      HasSubstr("feature list 'words' holds 2 values, not 1, at step 0"));
  // An empty step has no kind and no values.
  EXPECT_THAT(sequence_refusal(from_hex("12 09 0a 07 0a01 6b 12 02 0a 00"),
                               {.feature_lists = {{"k", FixedLenSequence{FeatureKind::int64s}}}})
                  .what(),
              HasSubstr("holds 0 values, not 1, at step 0"));
}

TEST(ParseSequenceExample, AnExamplesBytesAreAContext) {
  const std::string example = ExampleBuilder().set_int64("k", 4).serialize();
  const Record record{.data = as_bytes(example)};
  const SequenceExampleBatch batch = parse_single_sequence_example(
      record, SequenceExampleCollator({.context = {{"k", FixedLen{FeatureKind::int64s}}}}));
  EXPECT_EQ(batch.context().dense<FeatureKind::int64s>("k").values[0], 4);
}

TEST(ParseSequenceExample, ListsThatAreNotWantedAreCheckedToo) {
  const std::string whole = golden_sequence("steps");
  for (size_t size = 1; size < whole.size(); ++size) {
    std::string cut = whole.substr(0, size);
    // A cut between the context and the lists leaves a valid message.
    if (size == 2 + static_cast<size_t>(whole[1])) continue;
    const Error error = sequence_refusal(cut, {});
    EXPECT_EQ(error.kind(), ErrorKind::corrupted) << size;
  }
}

TEST(ParseSequenceExample, AKeyThatIsNotUtf8IsCorrupted) {
  std::string sequence = lists_of_k({"0a05 1a030a0101"});
  sequence[sequence.find('k')] = '\xff';
  for (const FeatureListSchema& lists :
       {FeatureListSchema{}, FeatureListSchema{{"\xff", Ragged{FeatureKind::int64s}}}}) {
    const Error error = sequence_refusal(sequence, {.feature_lists = lists});
    EXPECT_EQ(error.kind(), ErrorKind::corrupted);
    EXPECT_THAT(error.what(), HasSubstr("a key that is not UTF-8"));
  }
}

TEST(ParseSequenceExample, ListsAreAskedForAsTheSchemaHasThem) {
  const SequenceExampleBatch batch =
      parse_sequences({""}, {.feature_lists = {{"k", Ragged{FeatureKind::int64s}}}});
  EXPECT_NO_THROW(batch.feature_lists().ragged<FeatureKind::int64s>("k"));
  EXPECT_THROW(batch.feature_lists().dense<FeatureKind::int64s>("k"), Error);
  EXPECT_THROW(batch.feature_lists().ragged<FeatureKind::floats>("k"), Error);
  EXPECT_THROW(batch.context().ragged<FeatureKind::int64s>("k"), Error);
}

}  // namespace
}  // namespace recordpipe
