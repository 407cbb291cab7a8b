// Parses handwritten Examples into columns: values and errors for each kind of schema entry.
#include "recordpipe/example/parse_example.h"

#include <limits>
#include <memory>
#include <string>
#include <utility>
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
using ::testing::StrEq;

Record record_of(std::string_view example) { return {.data = as_bytes(example)}; }

std::vector<Record> examples_as_records(const std::vector<std::string>& examples) {
  std::vector<Record> records;
  for (const std::string& example : examples) records.push_back(record_of(example));
  return records;
}

std::vector<std::string> texts(const BytesValues& values) {
  std::vector<std::string> out;
  for (size_t i = 0; i < values.size(); ++i) out.push_back(as_text(values[i]));
  return out;
}

// Returns an Example with one feature "k" whose Feature message is `hex`; all lengths are below 64
// bytes.
std::string example_of_k(const std::string& hex) {
  const auto nested = [](char tag, const std::string& content) {
    return std::string{tag, static_cast<char>(content.size())} + content;
  };
  return nested(0x0a, nested(0x0a, nested(0x0a, "k") + nested(0x12, from_hex(hex))));
}

ExampleBatch parse(const std::vector<std::string>& examples, const ExampleSchema& schema) {
  return parse_example(examples_as_records(examples), ExampleCollator(schema));
}

// Parses feature "k" as a ragged column and returns its only row.
std::vector<int64_t> int64s_of_k(const std::string& example) {
  const ExampleBatch batch = parse({example}, {{"k", Ragged{FeatureKind::int64s}}});
  const auto row = batch.ragged<FeatureKind::int64s>("k").row(0);
  return {row.begin(), row.end()};
}

Error refusal(const std::string& example, const ExampleSchema& schema) {
  return error_of([&] { parse({example}, schema); });
}

TEST(ParseExample, AnImageItsLabelAndItsTags) {
  const std::string image(3072, '\xa5');
  const std::vector<std::span<const std::byte>> tags = {as_bytes("red"), as_bytes("")};
  std::vector<std::string> examples = {
      ExampleBuilder().set_bytes("image", as_bytes(image)).set_int64("label", 7).serialize(),
      ExampleBuilder()
          .set_bytes("image", as_bytes("x"))
          .set_int64("label", -1)
          .set_bytes_list("tags", tags)
          .set_float("not asked for", 1)
          .serialize()};
  const ExampleBatch batch = parse(examples, {{"image", FixedLen{FeatureKind::bytes}},
                                              {"label", FixedLen{FeatureKind::int64s}},
                                              {"tags", VarLen{FeatureKind::bytes}}});
  examples.clear();  // the batch has copies
  EXPECT_EQ(batch.size(), 2u);
  EXPECT_THAT(texts(batch.dense<FeatureKind::bytes>("image").values), ElementsAre(image, "x"));
  EXPECT_THAT(batch.dense<FeatureKind::int64s>("label").values, ElementsAre(7, -1));
  const auto column = batch.ragged<FeatureKind::bytes>("tags");
  EXPECT_THAT(column.row_splits, ElementsAre(0, 0, 2));
  EXPECT_THAT(texts(column.row(0)), IsEmpty());
  EXPECT_THAT(texts(column.row(1)), ElementsAre("red", ""));
}

TEST(ParseExample, ShapesAreRowMajorPerExample) {
  std::vector<std::string> examples;
  for (const float first : {0.f, 10.f}) {
    const std::vector<float> box = {first, first + 1, first + 2, first + 3, first + 4, first + 5};
    examples.push_back(ExampleBuilder().set_floats("box", box).serialize());
  }
  const ExampleBatch batch = parse(examples, {{"box", FixedLen{FeatureKind::floats, {2, 3}}}});
  const auto column = batch.dense<FeatureKind::floats>("box");
  EXPECT_THAT(column.shape, ElementsAre(2u, 3u));
  EXPECT_EQ(column.values.size(), 12u);
  EXPECT_THAT(column.row(1), ElementsAre(10, 11, 12, 13, 14, 15));
}

TEST(ParseExample, ColumnsAreAligned) {
  std::vector<std::string> examples;
  for (const int64_t i : {1, 2, 3}) {
    examples.push_back(ExampleBuilder()
                           .set_int64("label", i)
                           .set_float("weight", 0.5f)
                           .set_bytes("image", as_bytes("pixels"))
                           .serialize());
  }
  const ExampleBatch batch = parse(examples, {{"label", FixedLen{FeatureKind::int64s}},
                                              {"weight", Ragged{FeatureKind::floats}},
                                              {"image", Ragged{FeatureKind::bytes}}});
  const auto weights = batch.ragged<FeatureKind::floats>("weight");
  const auto images = batch.ragged<FeatureKind::bytes>("image");
  for (const void* const start : std::initializer_list<const void*>{
           batch.dense<FeatureKind::int64s>("label").values.data(), weights.values.data(),
           weights.row_splits.data(), images.values.bytes(), images.values.splits().data()}) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(start) % 64, 0u);
  }
}

TEST(ParseExample, WhatIsMissingGetsItsDefaults) {
  const ExampleSchema schema = {
      {"bytes", FixedLen{FeatureKind::bytes, {2}, std::vector<std::string>{"a", "bc"}}},
      {"float", FixedLen{FeatureKind::floats, {}, std::vector<float>{0.5}}},
      {"int64", FixedLen{FeatureKind::int64s, {1}, std::vector<int64_t>{-1}}},
      {"k", FixedLen{FeatureKind::int64s, {}, std::vector<int64_t>{8}}},
      {"ragged", Ragged{FeatureKind::floats}}};
  const std::vector<std::string> both = {"", ExampleBuilder().set_int64("int64", 5).serialize(),
                                         example_of_k("")};  // k with no list in it
  const ExampleBatch batch = parse(both, schema);
  const auto bytes = batch.dense<FeatureKind::bytes>("bytes");
  EXPECT_THAT(texts(bytes.row(0)), ElementsAre("a", "bc"));
  EXPECT_THAT(texts(bytes.row(1)), ElementsAre("a", "bc"));
  EXPECT_THAT(batch.dense<FeatureKind::floats>("float").values, ElementsAre(0.5, 0.5, 0.5));
  EXPECT_THAT(batch.dense<FeatureKind::int64s>("int64").values, ElementsAre(-1, 5, -1));
  EXPECT_THAT(batch.dense<FeatureKind::int64s>("k").values, ElementsAre(8, 8, 8));
  EXPECT_THAT(batch.ragged<FeatureKind::floats>("ragged").row_splits, ElementsAre(0, 0, 0, 0));
}

TEST(ParseExample, ValidityTellsWhichRowsHaveAFeature) {
  std::vector<std::string> examples(10);
  examples[1] = examples[9] = ExampleBuilder().set_int64("a", 5).set_int64("b", 6).serialize();
  examples[2] = example_of_k("1a00");  // an empty list is there
  const ExampleSchema schema = {
      {"a", FixedLen{FeatureKind::int64s, {}, std::vector<int64_t>{-1}}},
      {"b", Ragged{FeatureKind::int64s}},
      {"k", Ragged{FeatureKind::int64s}},
      {"none", FixedLen{FeatureKind::bytes, {}, std::vector<std::string>{""}}}};
  const ExampleBatch batch = parse(examples, schema);
  EXPECT_THAT(batch.validity("a"), ElementsAre(0b0000'0010, 0b1111'1110));
  EXPECT_THAT(batch.validity("b"), ElementsAre(0b0000'0010, 0b1111'1110));
  EXPECT_THAT(batch.validity("k"), ElementsAre(0b0000'0100, 0b1111'1100));
  EXPECT_THAT(batch.validity("none"), ElementsAre(0, 0b1111'1100));
  EXPECT_THAT(parse({examples[1]}, schema).validity("a"), IsEmpty());
  EXPECT_THAT(parse({}, schema).validity("none"), IsEmpty());
  EXPECT_EQ(error_of([&] { batch.validity("c"); }).kind(), ErrorKind::invalid_argument);
}

TEST(ParseExample, AnEmptyListMayCountAsMissing) {
  const std::string empty = example_of_k("1a00");
  FixedLen form{FeatureKind::int64s, {}, std::vector<int64_t>{4}};
  EXPECT_EQ(refusal(empty, {{"k", form}}).kind(), ErrorKind::unsupported);
  form.empty_is_missing = true;
  const ExampleBatch batch = parse({empty, example_of_k("1a020807")}, {{"k", form}});
  EXPECT_THAT(batch.dense<FeatureKind::int64s>("k").values, ElementsAre(4, 7));
  EXPECT_THAT(batch.validity("k"), ElementsAre(0b1111'1110));
  form.default_values = {};
  EXPECT_EQ(refusal(empty, {{"k", form}}).kind(), ErrorKind::not_found);
}

TEST(ParseExample, AKeptBatchGivesItsScratchAway) {
  const std::vector<std::string> examples(100, ExampleBuilder().set_int64("k", 5).serialize());
  const ExampleSchema schema = {{"k", FixedLen{FeatureKind::int64s}}};
  ExampleBatch kept = parse(examples, schema);
  const uint64_t before = heap_bytes(kept);
  ExampleBatch next;
  kept.exchange_scratch(next);
  EXPECT_LT(heap_bytes(kept), before / 4);
  EXPECT_EQ(heap_bytes(kept) + heap_bytes(next), before);
  next = parse_example(examples_as_records(examples), ExampleCollator(schema), std::move(next));
  EXPECT_EQ(next.dense<FeatureKind::int64s>("k").values[99], 5);
  EXPECT_EQ(kept.dense<FeatureKind::int64s>("k").values[99], 5);
}

TEST(ParseExample, TextMustBeUtf8WhereTheSchemaSaysSo) {
  const std::string bad = ExampleBuilder().set_bytes("k", "\xc3(").serialize();
  const std::string good = ExampleBuilder().set_bytes("k", "\xc3\xbc").serialize();
  const ExampleSchema schemas[] = {{{"k", FixedLen{.kind = FeatureKind::bytes, .utf8 = true}}},
                                   {{"k", Ragged{FeatureKind::bytes, true}}}};
  for (const ExampleSchema& schema : schemas) {
    EXPECT_EQ(parse({good}, schema).size(), 1u);
    const Error error = refusal(bad, schema);
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_THAT(error.what(), HasSubstr("'k' holds text that is not UTF-8"));
  }
  EXPECT_EQ(parse({bad}, {{"k", Ragged{FeatureKind::bytes}}}).size(), 1u);
  // Bytes that an int64 list replaces are no values: 1 value "\xff", a list of 7, 1 value "a".
  EXPECT_EQ(parse({example_of_k("0a030a01ff1a0208070a030a0161")}, schemas[1]).size(), 1u);
}

TEST(ParseExample, AFeatureThatMustBeThereIsNamed) {
  const ExampleSchema schema = {{"label", FixedLen{FeatureKind::int64s}}};
  const std::string example = ExampleBuilder().set_int64("k", 1).serialize();
  const Record record{.data = as_bytes(example), .offset = 4711, .path = "a.tfrecords"};
  const Error error = error_of([&] { parse_single_example(record, ExampleCollator(schema)); });
  EXPECT_EQ(error.kind(), ErrorKind::not_found);
  EXPECT_EQ(error.path(), "a.tfrecords");
  EXPECT_EQ(error.offset(), 4711u);
  EXPECT_THAT(error.what(), HasSubstr("feature 'label' is missing"));
  EXPECT_THAT(error.hint(), StrEq("declare default values if the feature is optional; there is k"));
  EXPECT_FALSE(refusal(example, schema).offset());  // an offset without a path would be meaningless
}

TEST(ParseExample, AnotherKindIsRefusedAndNamed) {
  const std::string example = ExampleBuilder().set_int64("k", 1).serialize();
  for (const ExampleSchema& schema :
       {ExampleSchema{{"k", FixedLen{FeatureKind::floats}}},
        ExampleSchema{{"k", FixedLen{FeatureKind::floats, {}, std::vector<float>{1}}}},
        ExampleSchema{{"k", Ragged{FeatureKind::floats}}}}) {
    const Error error = refusal(example, schema);
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_THAT(error.what(), HasSubstr("feature 'k' holds int64s, not floats"));
  }
  // The kind of an empty list matters too.
  EXPECT_EQ(refusal(example_of_k("1a00"), {{"k", Ragged{FeatureKind::bytes}}}).kind(),
            ErrorKind::unsupported);
}

TEST(ParseExample, AnotherNumberIsRefusedAndNamed) {
  const auto fixed = [](std::vector<size_t> shape) {
    return ExampleSchema{{"k", FixedLen{FeatureKind::int64s, std::move(shape)}}};
  };
  const std::string two = example_of_k("1a 04 0a02 0102");
  EXPECT_EQ(parse({two}, fixed({2})).dense<FeatureKind::int64s>("k").values[1], 2);
  for (const std::vector<size_t>& shape : {std::vector<size_t>{}, {1}, {3}, {2, 2}}) {
    const Error error = refusal(two, fixed(shape));
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_THAT(error.what(), HasSubstr("feature 'k' holds 2 values, not "));
  }
  // As in TensorFlow, a feature with an empty list is present.
  EXPECT_THAT(refusal(example_of_k("1a00"), fixed({})).what(), HasSubstr("0 values, not 1"));
}

TEST(ParseExample, ValuesOfAFixedSizeAreOneBlock) {
  const auto of = [](size_t bytes) {
    return ExampleSchema{{"k", FixedLen{.kind = FeatureKind::bytes, .value_bytes = bytes}}};
  };
  const auto image = [](std::string_view pixels) {
    return ExampleBuilder().set_bytes("k", pixels).serialize();
  };
  const ExampleBatch batch = parse({image("abc"), image("def")}, of(3));
  const auto values = batch.dense<FeatureKind::bytes>("k").values;
  EXPECT_EQ(as_text({values.bytes(), 6}), "abcdef");
  const Error error = error_of([&] { parse({image("abc"), image("de")}, of(3)); });
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_THAT(error.what(), HasSubstr("feature 'k' holds 2 bytes, not 3"));
  EXPECT_THAT(parse({image("")}, of(0)).dense<FeatureKind::bytes>("k").values[0], IsEmpty());
  EXPECT_NE(ExampleCollator(of(2)).parameters().front().value,
            ExampleCollator(of(3)).parameters().front().value);
}

TEST(ParseExample, AViewPointsIntoTheRecordAndHasNoColumn) {
  const auto kind = [](auto action) { return error_of(action).kind(); };
  const ExampleCollator collator({{"k", FixedLen{.kind = FeatureKind::bytes, .is_view = true}},
                                  {"label", FixedLen{.kind = FeatureKind::int64s}}});
  const std::string example =
      ExampleBuilder().set_bytes("k", "pixels").set_int64("label", 5).serialize();
  // A list of ints replaces the first list of bytes, and a list of bytes that list.
  const std::string pieces = example_of_k("0a03 0a0161 1a03 0a0101 0a04 0a026263");
  ExampleBatch batch;
  collator.reset(batch, 1);
  collator.set(batch, 0, record_of(example));
  const auto view = batch.view(0, "k");
  EXPECT_EQ(as_text(view), "pixels");
  const std::byte* const begin = as_bytes(example).data();
  EXPECT_TRUE(view.data() > begin && view.data() < begin + example.size());
  EXPECT_EQ(kind([&] { batch.view(0, "label"); }), ErrorKind::invalid_argument);
  EXPECT_EQ(kind([&] { batch.view(0, "absent"); }), ErrorKind::invalid_argument);
  collator.finish(batch);
  EXPECT_THAT(batch.dense<FeatureKind::int64s>("label").values, ElementsAre(5));
  EXPECT_EQ(kind([&] { batch.dense<FeatureKind::bytes>("k"); }), ErrorKind::invalid_argument);

  const ExampleCollator only({{"k", FixedLen{.kind = FeatureKind::bytes, .is_view = true}}});
  only.reset(batch, 1);
  only.set(batch, 0, record_of(pieces));
  EXPECT_EQ(as_text(batch.view(0, "k")), "bc");
  only.reset(batch, 1);
  const std::string two = example_of_k("0a06 0a0161 0a0162");
  EXPECT_EQ(kind([&] { only.set(batch, 0, record_of(two)); }), ErrorKind::unsupported);
  EXPECT_NE(only.parameters().front().value,
            ExampleCollator({{"k", FixedLen{FeatureKind::bytes}}}).parameters().front().value);
}

TEST(ParseExample, PackedUnpackedAndInPieces) {
  EXPECT_THAT(int64s_of_k(example_of_k("1a 05 0a03 010203")), ElementsAre(1, 2, 3));
  EXPECT_THAT(int64s_of_k(example_of_k("1a 06 0801 0802 0803")), ElementsAre(1, 2, 3));
  EXPECT_THAT(int64s_of_k(example_of_k("1a 09 0a0101 0a00 0802 0803")), ElementsAre(1, 2, 3));
  EXPECT_THAT(int64s_of_k(example_of_k("1a 03 0a0101 1a 02 0802")), ElementsAre(1, 2));
  const ExampleBatch floats = parse({example_of_k("12 0b 0a04 0000c03f 0d 00002040")},
                                    {{"k", FixedLen{FeatureKind::floats, {2}}}});
  EXPECT_THAT(floats.dense<FeatureKind::floats>("k").values, ElementsAre(1.5, 2.5));
}

TEST(ParseExample, TheWholeRangeOfInt64) {
  constexpr auto kMin = std::numeric_limits<int64_t>::min();
  constexpr auto kMax = std::numeric_limits<int64_t>::max();
  const std::vector<int64_t> values = {kMin, -1, 0, kMax};
  EXPECT_EQ(int64s_of_k(ExampleBuilder().set_int64s("k", values).serialize()), values);
}

// The last list is the valid one and is shorter than the list it replaces, whose values must not
// appear in later rows.
TEST(ParseExample, AnotherKindReplacesAList) {
  const std::string example = example_of_k("1a 0a 0a08 0102030405060708 0a 00 1a 03 0a0109");
  EXPECT_THAT(int64s_of_k(example), ElementsAre(9));
  const ExampleBatch dense = parse({example, example}, {{"k", FixedLen{FeatureKind::int64s}}});
  EXPECT_THAT(dense.dense<FeatureKind::int64s>("k").values, ElementsAre(9, 9));

  const std::string bytes = example_of_k("0a 0a 0a08 6161616161616161 1a 00 0a 03 0a0162");
  const ExampleBatch ragged = parse({bytes, bytes}, {{"k", Ragged{FeatureKind::bytes}}});
  EXPECT_THAT(texts(ragged.ragged<FeatureKind::bytes>("k").values), ElementsAre("b", "b"));
}

TEST(ParseExample, OfADuplicateKeyTheLastWins) {
  const std::string both = example_of_k("1a 05 0a03 010203") + example_of_k("1a 03 0a0109");
  EXPECT_THAT(int64s_of_k(both), ElementsAre(9));
  EXPECT_EQ(refusal(example_of_k("1a 03 0a0109") + example_of_k("0a 00"),
                    {{"k", FixedLen{FeatureKind::int64s}}})
                .kind(),
            ErrorKind::unsupported);
  EXPECT_THAT(int64s_of_k(example_of_k("1a 03 0a0109") + example_of_k("")), IsEmpty());
}

TEST(ParseExample, ConcatenatedMessagesMerge) {
  const ExampleBatch batch =
      parse({ExampleBuilder().set_int64("a", 1).serialize() +
             ExampleBuilder().set_int64("b", 2).serialize()},
            {{"a", FixedLen{FeatureKind::int64s}}, {"b", FixedLen{FeatureKind::int64s}}});
  EXPECT_EQ(batch.dense<FeatureKind::int64s>("a").values[0], 1);
  EXPECT_EQ(batch.dense<FeatureKind::int64s>("b").values[0], 2);
}

TEST(ParseExample, UnknownFieldsAndGroupsAreSkipped) {
  EXPECT_THAT(int64s_of_k(from_hex("7b 0801 7c") + example_of_k("7b 7c 1a 05 2001 0a0109") +
                          from_hex("2001")),
              ElementsAre(9));
}

TEST(ParseExample, DamageIsRefusedWithItsPlaceInTheRecord) {
  const std::string cut = example_of_k("1a 05 0a03 0102");
  const Record record{.data = as_bytes(cut), .offset = 100, .path = "a.tfrecords"};
  const Error error = error_of([&] { parse_single_example(record, ExampleCollator({})); });
  EXPECT_EQ(error.kind(), ErrorKind::corrupted);
  EXPECT_EQ(error.offset(), 100u);
  EXPECT_THAT(error.what(), HasSubstr("not a tf.train.Example"));
  EXPECT_THAT(error.what(), HasSubstr("of the data"));
}

// Whatever a length prefix says, no byte beyond the record is read.
TEST(ParseExample, LengthsThatLieAreRefused) {
  const ExampleSchema schema = {{"k", Ragged{FeatureKind::int64s}}};
  for (const char* hex :
       {"0a ffffffff07", "0a ffffffff0f", "0a ffffffffffffffffff01", "0a 05 0a03"}) {
    EXPECT_EQ(refusal(from_hex(hex), schema).kind(), ErrorKind::corrupted) << hex;
  }
  for (const char* hex : {"1a ffffffff07", "1a 03 0a 7f 01", "1a 03 0a 01 80"}) {
    EXPECT_EQ(refusal(example_of_k(hex), schema).kind(), ErrorKind::corrupted) << hex;
  }
}

TEST(ParseExample, FeaturesThatAreNotWantedAreCheckedToo) {
  EXPECT_EQ(refusal(example_of_k("1a 03 0a 01 80"), {}).kind(), ErrorKind::corrupted);
}

TEST(ParseExample, AnErrorLeavesAnEmptyBatchThatCanBeUsedAgain) {
  const ExampleCollator collator({{"k", Ragged{FeatureKind::int64s}}});
  const std::string good = example_of_k("1a 05 0a03 010203");
  const std::string bad = example_of_k("0a00");
  ExampleBatch batch = parse_example(examples_as_records({good, good}), collator);
  collator.reset(batch, 2);
  collator.set(batch, 0, record_of(good));
  EXPECT_THROW(collator.set(batch, 1, record_of(bad)), Error);
  EXPECT_EQ(batch.size(), 0u);
  EXPECT_THAT(batch.ragged<FeatureKind::int64s>("k").values, IsEmpty());
  EXPECT_THAT(batch.ragged<FeatureKind::int64s>("k").row_splits, ElementsAre(0));
  batch = parse_example(examples_as_records({good}), collator, std::move(batch));
  EXPECT_THAT(batch.ragged<FeatureKind::int64s>("k").row(0), ElementsAre(1, 2, 3));
}

TEST(ParseExample, RecordsAreKeptUntilTheBatchIsFinishedAndNoLonger) {
  const ExampleCollator collator({{"k", Ragged{FeatureKind::bytes}}});
  const std::string example = example_of_k("0a 05 0a03 616263");
  std::shared_ptr<std::byte[]> buffer(new std::byte[example.size()]);
  std::ranges::copy(as_bytes(example), buffer.get());
  ExampleBatch batch;
  collator.reset(batch, 1);
  const std::weak_ptr<std::byte[]> alive = buffer;
  collator.set(batch, 0, {.data = {buffer.get(), example.size()}, .owner = std::move(buffer)});
  EXPECT_FALSE(alive.expired());
  collator.finish(batch);
  EXPECT_TRUE(alive.expired());
  EXPECT_THAT(texts(batch.ragged<FeatureKind::bytes>("k").values), ElementsAre("abc"));
}

TEST(ParseExample, ABatchOfNothing) {
  const ExampleBatch batch =
      parse({}, {{"a", FixedLen{FeatureKind::bytes}}, {"b", Ragged{FeatureKind::bytes}}});
  EXPECT_EQ(batch.size(), 0u);
  EXPECT_TRUE(batch.dense<FeatureKind::bytes>("a").values.empty());
  EXPECT_THAT(batch.ragged<FeatureKind::bytes>("b").row_splits, ElementsAre(0));
}

TEST(ParseExample, ColumnsAreAskedForAsTheSchemaHasThem) {
  const ExampleBatch batch = parse({""}, {{"k", Ragged{FeatureKind::int64s}}});
  EXPECT_NO_THROW(batch.ragged<FeatureKind::int64s>("k"));
  const auto kind = [](auto action) { return error_of(action).kind(); };
  EXPECT_EQ(kind([&] { batch.ragged<FeatureKind::int64s>("l"); }), ErrorKind::invalid_argument);
  EXPECT_EQ(kind([&] { batch.ragged<FeatureKind::floats>("k"); }), ErrorKind::invalid_argument);
  EXPECT_EQ(kind([&] { batch.dense<FeatureKind::int64s>("k"); }), ErrorKind::invalid_argument);
  EXPECT_EQ(kind([] { ExampleBatch().dense<FeatureKind::int64s>("k"); }),
            ErrorKind::invalid_argument);
}

TEST(ParseExample, SchemasThatMakeNoSenseAreRefused) {
  const auto refused = [](const FixedLen& fixed) {
    const Error error = error_of([&] { ExampleCollator({{"k", fixed}}); });
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    EXPECT_THAT(error.what(), HasSubstr("feature 'k'"));
  };
  refused(FixedLen{FeatureKind::none});
  refused(FixedLen{FeatureKind::int64s, {2, 0}});
  refused(FixedLen{FeatureKind::int64s, {size_t{1} << 31}});
  refused(FixedLen{FeatureKind::int64s, {size_t{1} << 16, size_t{1} << 16, size_t{1} << 32}});
  refused(FixedLen{FeatureKind::int64s, {2}, std::vector<int64_t>{1}});
  refused(FixedLen{FeatureKind::int64s, {1}, std::vector<float>{1}});
  refused(FixedLen{.kind = FeatureKind::int64s, .value_bytes = 8});
  refused(FixedLen{.kind = FeatureKind::bytes, .shape = {2}, .value_bytes = 8});
  refused(FixedLen{.kind = FeatureKind::bytes,
                   .default_values = std::vector<std::string>{"abc"},
                   .value_bytes = 2});
  refused(FixedLen{.kind = FeatureKind::int64s, .utf8 = true});
  refused(FixedLen{.kind = FeatureKind::bytes,
                   .default_values = std::vector<std::string>{"\xff"},
                   .utf8 = true});
  refused(FixedLen{.kind = FeatureKind::int64s, .is_view = true});
  refused(FixedLen{.kind = FeatureKind::bytes,
                   .default_values = std::vector<std::string>{"abc"},
                   .is_view = true});
  EXPECT_THROW(ExampleCollator({{"k", Ragged{FeatureKind::none}}}), Error);
  EXPECT_THROW(ExampleCollator({{"k", Ragged{FeatureKind::floats, true}}}), Error);
}

TEST(SparseIndices, AreThoseOfTensorFlow) {
  const std::vector<int64_t> row_splits = {0, 2, 2, 3};
  const SparseIndices sparse = sparse_indices(row_splits);
  using Index = std::array<int64_t, 2>;
  EXPECT_THAT(sparse.indices, ElementsAre(Index{0, 0}, Index{0, 1}, Index{2, 0}));
  EXPECT_EQ(sparse.dense_shape, (Index{3, 2}));
  EXPECT_EQ(sparse_indices(std::vector<int64_t>{0}).dense_shape, (Index{0, 0}));
}

}  // namespace
}  // namespace recordpipe
