// Tests which bytes are taken for which type of message, and that no record's bytes are dropped
// because of a wrong type.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/example/message_view.h"
#include "tests/support/bytes.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

std::string golden(const std::string& name) {
  return read_file(RECORDPIPE_DATA_DIR "/golden/" + name);
}

std::string undecided(const std::string& bytes) {
  MessageView view;
  view.read(as_bytes(bytes));
  EXPECT_EQ(view.kind(), MessageKind::unknown);
  EXPECT_TRUE(view.features().empty());
  EXPECT_FALSE(view.unread());
  return view.undecided();
}

TEST(MessageKind, OfWhatWritersWrite) {
  for (const char* name : {"image", "keys-unsorted", "unpacked", "pieces", "floats", "empty"}) {
    const std::string bytes = golden(std::string("examples/") + name + ".pb");
    EXPECT_EQ(message_kind(as_bytes(bytes)), MessageKind::example) << name;
  }
  for (const char* name : {"steps", "pieces", "kinds-differ", "no-steps"}) {
    const std::string bytes = golden(std::string("sequences/") + name + ".pb");
    EXPECT_EQ(message_kind(as_bytes(bytes)), MessageKind::sequence_example) << name;
  }
  // The first record of an event file: wall time and file version.
  EXPECT_EQ(message_kind(as_bytes(from_hex("090000803899d6d7411a0d") + "brain.Event:2")),
            MessageKind::event);
  // Wall time, step, and a summary with one scalar.
  EXPECT_EQ(
      message_kind(as_bytes(from_hex("090000803899d6d741 1007 2a0d0a0b0a046c6f7373150000003f"))),
      MessageKind::event);
}

TEST(MessageKind, OfWhatIsNone) {
  const std::vector<std::string> unknown = {
      "foo",
      "abc",
      "123456789",
      "{\"label\": 3}",
      std::string(3072, '\0'),
      from_hex("0a"),
      from_hex("0801"),                       // field 1 is a number
      from_hex("0a03080110"),                 // truncated
      from_hex("0a020801"),                   // features without an entry
      from_hex("0a00 12020801"),              // feature lists without an entry
      from_hex("090000803899d6d741 5a00"),    // a wall time and a field that no Event has
      from_hex("0a09 0a07 0a01ff 12020a00"),  // a key that is not UTF-8
  };
  for (const std::string& bytes : unknown) {
    EXPECT_EQ(message_kind(as_bytes(bytes)), MessageKind::unknown) << to_hex(bytes);
  }
}

// prost (Rust) leaves out an entry's value, or its key, if they are the default.
TEST(MessageKind, EntryWithoutValueBesideOthers) {
  MessageView view;
  const std::string bytes = from_hex("0a 11 0a030a0161 0a0a0a0162 12051a030a0107");
  view.read(as_bytes(bytes));
  EXPECT_EQ(view.kind(), MessageKind::example);
  ASSERT_EQ(view.features().size(), 2u);
  EXPECT_EQ(view.features()[0].feature.kind(), FeatureKind::none);
}

TEST(MessageKind, WhatHasOtherFieldsIsUndecided) {
  EXPECT_EQ(undecided(golden("examples/unknown-fields.pb")),
            "an Example except for field 15 of a Feature (byte 14)");
  EXPECT_EQ(undecided(golden("examples/kinds-in-turn.pb")),
            "an Example except for a Feature with lists of several kinds (byte 14)");
  // An entry's value is split into Features of two kinds, in Features and in a context.
  EXPECT_EQ(undecided(from_hex("0a13 0a11 0a0161 1205 0a030a0170 1205 1a030a0109")),
            "an Example except for a Feature with lists of several kinds (byte 16)");
  EXPECT_EQ(undecided(from_hex("0a13 0a11 0a0161 1205 0a030a0170 1205 1a030a0109"
                               "1209 0a07 0a016c 1202 0a00")),
            "a SequenceExample except for a Feature with lists of several kinds (byte 16)");
  // Pieces of one kind are merged, and so are those of different steps.
  EXPECT_EQ(message_kind(as_bytes(from_hex("0a13 0a11 0a0161 1205 1a030a0108 1205 1a030a0109"))),
            MessageKind::example);
  EXPECT_EQ(message_kind(as_bytes(from_hex("1217 0a15 0a016c 1207 0a050a030a0170 1207"
                                           "0a051a030a0109"))),
            MessageKind::sequence_example);
  EXPECT_EQ(undecided(golden("examples/duplicate-key.pb")),
            "an Example except for a second feature \"a\" (byte 6)");
  EXPECT_EQ(undecided(golden("examples/no-value.pb")),
            "an Example except for map entries without a value (byte 2)");
  EXPECT_EQ(undecided(from_hex("0a0c0a0a0a016112051a030a0107 0a00")),
            "an Example except for an empty Features beside others (byte 14)");
  // An Example, and field 5 after it.
  const std::string example = from_hex("0a0c0a0a0a016112051a030a0107");
  EXPECT_EQ(undecided(example + from_hex("2a0178")),
            "an Example except for field 5 of an Example (byte 14)");
  EXPECT_EQ(undecided(from_hex("0a0c0a0a 0a01ff 12051a030a0107")),
            "an Example except for a key that is not UTF-8 (byte 4)");
  const std::string event = from_hex("090000803899d6d741 2a0d0a0b0a046c6f7373150000003f");
  EXPECT_EQ(undecided(event + from_hex("9a0601 78")),
            "an Event except for field 99 of an Event (byte 24)");
  // A message of others, whose first field is a double, too.
  EXPECT_EQ(undecided(from_hex("090000803899d6d741 9a060178")), "");
}

TEST(MessageKind, SeveralEmptyMessages) {
  // Perhaps elements of a repeated field of another type: merged, they could not be told apart.
  EXPECT_EQ(message_kind(as_bytes(from_hex("0a00"))), MessageKind::example);
  EXPECT_EQ(message_kind(as_bytes(from_hex("0a00 0a00"))), MessageKind::example_list);
  EXPECT_EQ(message_kind(as_bytes(from_hex("1200"))), MessageKind::sequence_example);
  EXPECT_EQ(message_kind(as_bytes(from_hex("1200 1200"))), MessageKind::unknown);
}

// A frame of a driving data set: its context has a name, which parses as a map entry.
TEST(MessageKind, MessageWithANestedName) {
  const std::string name = "12306251798468767010_560_000_580_000";
  const std::string context = from_hex("0a") + static_cast<char>(name.size()) + name;
  std::string frame = from_hex("0a") + static_cast<char>(context.size()) + context;
  frame += from_hex("10 90f4fa8ac3f1da02");  // a time stamp
  frame += from_hex("22 05 0801 12 01 ff");  // an image
  EXPECT_EQ(message_kind(as_bytes(frame)), MessageKind::unknown);
}

// Every way to read a record as a type by hand.
TEST(MessageKind, GivenByHand) {
  const std::string bytes = from_hex("0a0c0a0a0a016112051a030a0107 2a0178");
  MessageView example(MessageKind::example);
  example.read(as_bytes(bytes));
  EXPECT_EQ(example.kind(), MessageKind::example);
  ASSERT_NE(example.find_feature("a"), nullptr);
  ASSERT_TRUE(example.unread());
  EXPECT_EQ(example.unread()->what, "field 5 of an Example");
  EXPECT_EQ(example.unread()->offset, 14u);
  EXPECT_FALSE(example.unread()->is_replaced);
  EXPECT_EQ(example.undecided(), "");

  MessageView unknown(MessageKind::unknown);
  const std::string plain = bytes.substr(0, 14);
  unknown.read(as_bytes(plain));
  EXPECT_EQ(unknown.kind(), MessageKind::unknown);
  EXPECT_TRUE(unknown.features().empty());

  MessageView sequence(MessageKind::sequence_example);
  sequence.read(as_bytes(plain));
  EXPECT_EQ(sequence.kind(), MessageKind::sequence_example);
  EXPECT_NE(sequence.find_feature("a"), nullptr);
  EXPECT_FALSE(sequence.unread());

  sequence.read(as_bytes("foo"));
  EXPECT_EQ(sequence.kind(), MessageKind::unknown);
}

std::string nested(int field, const std::string& content) {
  return std::string{static_cast<char>(field << 3 | 2), static_cast<char>(content.size())} +
         content;
}
std::string int64_feature(const std::string& name, int value) {
  const std::string list = nested(1, {static_cast<char>(value)});
  return nested(1, nested(1, name) + nested(2, nested(3, list)));
}
std::string example_of(const std::string& entries) { return nested(1, entries); }

TEST(ExampleList, ContextAndExamples) {
  const std::string list =
      nested(1, example_of(int64_feature("clicks", 1) + int64_feature("price", 5))) +
      nested(1, example_of(int64_feature("price", 6))) +
      nested(1, example_of(int64_feature("clicks", 3) + int64_feature("age", 9))) +
      nested(2, example_of(int64_feature("query", 7)));
  MessageView view;
  view.read(as_bytes(list));
  ASSERT_EQ(view.kind(), MessageKind::example_list);
  EXPECT_TRUE(view.has_features());
  ASSERT_EQ(view.features().size(), 1u);
  EXPECT_EQ(view.find_feature("query")->single_int64(), 7);
  ASSERT_EQ(view.feature_lists().size(), 3u);
  const auto values = [&](std::string_view name) {
    std::vector<int64_t> all;
    view.find_feature_list(name)->for_each_step(
        [&](const FeatureView& step) { all.push_back(step.single_int64().value_or(-1)); });
    return all;
  };
  EXPECT_EQ(values("age"), (std::vector<int64_t>{-1, -1, 9}));
  EXPECT_EQ(values("clicks"), (std::vector<int64_t>{1, -1, 3}));
  EXPECT_EQ(values("price"), (std::vector<int64_t>{5, 6, -1}));

  // The same view reads a list of other features.
  const std::string other = nested(1, example_of(int64_feature("x", 1)));
  view.read(as_bytes(other));
  ASSERT_EQ(view.kind(), MessageKind::example_list);
  ASSERT_EQ(view.feature_lists().size(), 1u);
  EXPECT_EQ(values("x"), (std::vector<int64_t>{1}));
  EXPECT_TRUE(view.features().empty());

  const std::string only_context = nested(2, example_of(int64_feature("query", 7)));
  EXPECT_EQ(message_kind(as_bytes(only_context)), MessageKind::example_list);
  // With a field that no list has, it is none.
  EXPECT_EQ(undecided(list + from_hex("1801")),
            "an ExampleListWithContext except for field 3 of an ExampleListWithContext (byte " +
                std::to_string(list.size()) + ")");
  EXPECT_EQ(undecided(list + only_context),
            "an ExampleListWithContext except for a second context (byte " +
                std::to_string(list.size()) + ")");
  EXPECT_EQ(undecided(nested(1, example_of(int64_feature("x", 1) + from_hex("3001")))),
            "an ExampleListWithContext except for field 6 of Features (byte 16)");
}

// A hostile list, whose every Example has other features, would take quadratic memory.
TEST(ExampleList, OfExamplesWithoutCommonFeatures) {
  std::string list;
  for (int i = 0; i < 5000; ++i) {
    std::string name = std::to_string(i);
    list += nested(1, example_of(int64_feature(name, 1)));
  }
  EXPECT_EQ(message_kind(as_bytes(list)), MessageKind::unknown);
}

}  // namespace
}  // namespace recordpipe
