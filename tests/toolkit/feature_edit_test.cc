// Removes and renames features, and compares the results with the same edits on protobuf objects.
#include "recordpipe/toolkit/feature_edit.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/example/example_builder.h"
#include "recordpipe/example/message_view.h"
#include "recordpipe/proto/example.pb.h"
#include "tests/support/bytes.h"
#include "tests/support/deterministic_bytes.h"
#include "tests/support/example_generator.h"
#include "tests/support/expect_error.h"

namespace recordpipe {
namespace {

std::string joined(const EditedMessage& message) {
  std::string bytes;
  for (const auto& piece : message.pieces) bytes += as_text(piece);
  return bytes;
}

std::string edited(const std::string& message, const FeatureEdit& edit) {
  return joined(edit_features(as_bytes(message), edit));
}

std::string some_example() {
  return ExampleBuilder().set_int64("a", 1).set_bytes("b", "x").set_float("c", 0.5f).serialize();
}

TEST(FeatureEdit, SelectDropRename) {
  EXPECT_EQ(edited(some_example(), {.select = FeatureNames{"a", "c"}}),
            ExampleBuilder().set_int64("a", 1).set_float("c", 0.5f).serialize());
  EXPECT_EQ(edited(some_example(), {.drop = {"a"}}),
            ExampleBuilder().set_bytes("b", "x").set_float("c", 0.5f).serialize());
  EXPECT_EQ(
      edited(some_example(), {.rename = {{"a", "z"}}}),
      ExampleBuilder().set_int64("z", 1).set_bytes("b", "x").set_float("c", 0.5f).serialize());
  // Two features swap names.
  EXPECT_EQ(edited(some_example(), {.drop = {"c"}, .rename = {{"a", "b"}, {"b", "a"}}}),
            ExampleBuilder().set_int64("b", 1).set_bytes("a", "x").serialize());
}

TEST(FeatureEdit, ReplacesBeforeTheRest) {
  FeatureEdit edit;
  edit.replace = [](const MessageView& message) {
    const int64_t a = *message.find_feature("a")->single_int64();
    return ExampleBuilder()
        .set_int64("a", a + 1)
        .set_bytes("new", std::string(5000, 'x'))
        .serialize();
  };
  const std::string replaced = edited(some_example(), edit);
  EXPECT_EQ(replaced, ExampleBuilder()
                          .set_int64("a", 2)
                          .set_bytes("b", "x")
                          .set_float("c", 0.5f)
                          .set_bytes("new", std::string(5000, 'x'))
                          .serialize());
  edit.select = FeatureNames{"a", "new"};
  edit.rename = {{"new", "old"}};
  EXPECT_EQ(
      edited(some_example(), edit),
      ExampleBuilder().set_int64("a", 2).set_bytes("old", std::string(5000, 'x')).serialize());
  edit.replace = [](const MessageView&) -> std::string {
    throw Error({.kind = ErrorKind::unsupported, .reason = "not this one"});
  };
  EXPECT_EQ(error_of([&] { edited(some_example(), edit); }).reason(), "not this one");
}

TEST(FeatureEdit, WithNothingLeftAMessageStaysWhatItIs) {
  EXPECT_EQ(edited(some_example(), {.select = FeatureNames{}}), from_hex("0a00"));
  EXPECT_EQ(edited(some_example(), {.drop = {"a", "b", "c"}}), from_hex("0a00"));
  EXPECT_EQ(edited("", {.drop = {"a"}}), "");
  EXPECT_EQ(edited(from_hex("1200"), {.drop = {"a"}}), from_hex("1200"));
  // A feature list "l" with one step.
  const std::string sequence = from_hex("1209 0a07 0a016c 1202 0a00");
  EXPECT_EQ(edited(sequence, {.drop = {"a"}}), sequence);
  EXPECT_EQ(edited(sequence, {.drop = {"l"}}), from_hex("1200"));
}

TEST(FeatureEdit, OtherMessagesAreRefused) {
  // An Event (wall time 1.5, step 7), and a message with a number in field 5.
  for (const std::string& bytes : {from_hex("09 000000000000f83f 1007"), from_hex("2801")}) {
    const Error error = error_of([&] { edited(bytes, {.drop = {"a"}}); });
    EXPECT_EQ(error.kind(), ErrorKind::corrupted) << to_hex(bytes);
    EXPECT_NE(error.reason().find("neither an Example nor a SequenceExample"), std::string::npos);
  }
}

TEST(FeatureEdit, SaysWhichNamesItFound) {
  const FeatureEdit edit = {
      .select = FeatureNames{"a", "d"}, .drop = {"b", "e"}, .rename = {{"c", "x"}, {"f", "y"}}};
  EXPECT_EQ(edit_features(as_bytes(some_example()), edit).found, (FeatureNames{"a", "b", "c"}));
}

// The names are in any order, one occurs twice, and one list is in two pieces.
TEST(FeatureEdit, NamesAreSortedAndNoneIsReplaced) {
  const std::string a1 = from_hex("0a0b 0a0161 1206 1a04 0a020102");
  const std::string a2 = from_hex("0a0a 0a0161 1205 1a03 0a0103");
  const std::string b = from_hex("0a10 0a0162 1205 1a03 0a0104 1204 1a02 0805");
  const auto example = [](const std::string& entries) {
    return std::string("\x0a") + static_cast<char>(entries.size()) + entries;
  };
  EXPECT_EQ(to_hex(edited(example(b + a2), {.drop = {"x"}})),
            to_hex(example(a2 + from_hex("0a0e 0a0162 1209 1a03 0a0104 1a02 0805"))));
  const std::string twice = example(b + a1 + a2);
  const Error error =
      error_of([&] { edited(twice, {.kind = MessageKind::example, .drop = {"x"}}); });
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_EQ(error.reason(), "the edit would lose a second feature \"a\"");
}

TEST(FeatureEdit, LongValuesStayWhereTheyAre) {
  const std::string image(1 << 20, 'i');
  const std::string message =
      ExampleBuilder().set_bytes("image", image).set_int64("label", 3).serialize();
  const EditedMessage result = edit_features(as_bytes(message), {.rename = {{"image", "picture"}}});
  EXPECT_EQ(joined(result),
            ExampleBuilder().set_bytes("picture", image).set_int64("label", 3).serialize());
  EXPECT_LT(result.written->size(), 64u);
}

TEST(FeatureEdit, PiecesOutliveAMove) {
  const std::string message = some_example();
  EditedMessage first = edit_features(as_bytes(message), {.drop = {"a"}});
  const std::string expected = joined(first);
  const EditedMessage second = std::move(first);
  EXPECT_EQ(joined(second), expected);
}

TEST(FeatureEdit, WhatCannotBeEdited) {
  const Error twice = error_of([] { edited(some_example(), {.rename = {{"a", "b"}}}); });
  EXPECT_EQ(twice.kind(), ErrorKind::already_exists);
  EXPECT_EQ(twice.reason(), "two features named \"b\"");
  for (const std::string& bytes : {from_hex("ffff"), from_hex("0a05"), from_hex("0a030a0110"),
                                   from_hex("0a080a060a01ff12011a")}) {
    const Error error = error_of([&] { edited(bytes, {.drop = {"a"}}); });
    EXPECT_EQ(error.kind(), ErrorKind::corrupted) << to_hex(bytes);
    EXPECT_TRUE(error.offset()) << to_hex(bytes);
  }
  // The damage is detected even in a feature that is dropped.
  EXPECT_THROW(edited(from_hex("0a0a 0a08 0a0161 1203 1a02 0a05"), {.drop = {"a"}}), Error);
}

template <typename Map>
void edit_map(Map& map, const FeatureEdit& edit) {
  Map out;
  for (const auto& [name, value] : map) {
    if (edit.drop.contains(name) || (edit.select && !edit.select->contains(name))) continue;
    const auto renamed = edit.rename.find(name);
    out[renamed == edit.rename.end() ? name : renamed->second] = value;
  }
  map.swap(out);
}

TEST(FeatureEditDifferential, Messages) {
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    ExampleGenerator generator(seed);
    const std::string bytes = seed % 2 == 0 ? generator.example() : generator.sequence_example();
    proto::SequenceExample parsed;
    if (!parsed.ParseFromString(bytes)) continue;
    // protobuf parses Events and unknown fields as messages without features.
    const MessageKind kind = message_kind(as_bytes(bytes));
    if (kind != MessageKind::example && kind != MessageKind::sequence_example) continue;
    parsed.DiscardUnknownFields();
    FeatureEdit edit;
    size_t i = seed / 2;
    for (const auto& [name, feature] : parsed.context().feature()) {
      ++i;
      if (i % 3 == 0) edit.drop.insert(name);
      if (i % 3 == 1) edit.rename.emplace(name, "new/" + name);
    }
    const std::string result = edited(bytes, edit);
    edit_map(*parsed.mutable_context()->mutable_feature(), edit);
    edit_map(*parsed.mutable_feature_lists()->mutable_feature_list(), edit);
    proto::SequenceExample reparsed;
    ASSERT_TRUE(reparsed.ParseFromString(result)) << "seed " << seed;
    reparsed.DiscardUnknownFields();
    reparsed.mutable_context();
    reparsed.mutable_feature_lists();
    EXPECT_EQ(to_hex(deterministic_bytes(reparsed)), to_hex(deterministic_bytes(parsed)))
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace recordpipe
