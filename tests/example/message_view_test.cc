// Compares the kind and the features of a record's message with protobuf's parser.
#include "recordpipe/message_view.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include "recordpipe/feature_values.h"
#include "recordpipe/proto/example.pb.h"
#include "tests/support/bytes.h"
#include "tests/support/example_generator.h"
#include "tests/support/expected_values.h"
#include "tests/support/mutator.h"

namespace recordpipe {
namespace {

std::string golden(const std::string& name) {
  std::ifstream file(RECORDPIPE_DATA_DIR "/golden/" + name, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  EXPECT_TRUE(file) << name;
  return content.str();
}

// Reads the values one by one with a ValueReader.
template <FeatureKind kind>
auto read_one_by_one(const FeatureView& feature) {
  ValueReader<kind> reader(feature);
  std::vector<typename ValueReader<kind>::Value> values;
  while (const auto value = reader.next()) values.push_back(*value);
  EXPECT_FALSE(reader.next());
  return values;
}

// Returns the values that for_each_value() visits, which must equal those of a ValueReader.
ExpectedValues visited_values(const FeatureView& feature) {
  switch (feature.kind()) {
    case FeatureKind::bytes: {
      std::vector<std::string> texts;
      for_each_value<FeatureKind::bytes>(
          feature, [&](std::span<const std::byte> value) { texts.push_back(as_text(value)); });
      EXPECT_TRUE(std::ranges::equal(read_one_by_one<FeatureKind::bytes>(feature), texts, {},
                                     [](auto value) { return as_text(value); }));
      EXPECT_TRUE(read_one_by_one<FeatureKind::floats>(feature).empty());
      return texts;
    }
    case FeatureKind::floats: {
      std::vector<float> floats;
      for_each_value<FeatureKind::floats>(feature, [&](float value) { floats.push_back(value); });
      EXPECT_EQ(bits_of(read_one_by_one<FeatureKind::floats>(feature)), bits_of(floats));
      EXPECT_TRUE(read_one_by_one<FeatureKind::int64s>(feature).empty());
      return bits_of(floats);
    }
    case FeatureKind::int64s: {
      std::vector<int64_t> int64s;
      for_each_value<FeatureKind::int64s>(feature, [&](int64_t value) { int64s.push_back(value); });
      EXPECT_EQ(read_one_by_one<FeatureKind::int64s>(feature), int64s);
      return int64s;
    }
    case FeatureKind::none:
      break;
  }
  return {};
}

void expect_same_features(const MessageView& view, const proto::Features& parsed) {
  ASSERT_EQ(view.features().size(), parsed.feature().size());
  EXPECT_TRUE(std::ranges::is_sorted(view.features(), {}, &NamedFeature::name));
  for (const auto& [name, feature] : parsed.feature()) {
    const FeatureView* const found = view.find_feature(name);
    ASSERT_NE(found, nullptr) << name;
    EXPECT_EQ(visited_values(*found), expected_values(feature)) << name;
  }
}

void expect_same_lists(const MessageView& view, const proto::FeatureLists& parsed) {
  ASSERT_EQ(view.feature_lists().size(), parsed.feature_list().size());
  for (const auto& [name, list] : parsed.feature_list()) {
    const FeatureListView* const found = view.find_feature_list(name);
    ASSERT_NE(found, nullptr) << name;
    ASSERT_EQ(found->size(), static_cast<size_t>(list.feature_size())) << name;
    int step = 0;
    found->for_each_step([&](const FeatureView& feature) {
      EXPECT_EQ(visited_values(feature), expected_values(list.feature(step++))) << name;
    });
    EXPECT_EQ(step, list.feature_size());
  }
}

TEST(MessageKind, OfWhatWritersWrite) {
  for (const char* name :
       {"image", "keys-unsorted", "unpacked", "pieces", "floats", "duplicate-key", "kinds-in-turn",
        "unknown-fields", "no-value", "empty"}) {
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

TEST(MessageView, OneNameGivenOftenIsOneFeature) {
  std::string bytes;
  for (int i = 0; i < 10000; ++i) bytes += from_hex("0a0c0a0a0a01611205 1a030a0100");
  bytes.back() = 5;
  MessageView view;
  view.read(as_bytes(bytes));
  ASSERT_EQ(view.features().size(), 1u);
  EXPECT_EQ(view.features()[0].feature.single_int64(), 5);
}

TEST(MessageView, WhatWasReadBeforeIsForgotten) {
  MessageView view;
  const std::string steps = golden("sequences/steps.pb");
  view.read(as_bytes(steps));
  EXPECT_EQ(view.features().size(), 1u);
  EXPECT_EQ(view.feature_lists().size(), 2u);
  view.read(as_bytes("foo"));
  EXPECT_EQ(view.kind(), MessageKind::unknown);
  EXPECT_TRUE(view.features().empty());
  EXPECT_TRUE(view.feature_lists().empty());
  EXPECT_EQ(view.find_feature("label"), nullptr);
}

TEST(MessageView, KeepsOnlyWhatIsWanted) {
  MessageView view;
  const std::string steps = golden("sequences/steps.pb");
  view.read(as_bytes(steps));
  const std::string name(view.feature_lists()[1].name());
  view.keep_only([&](std::string_view asked) { return asked == name; });
  EXPECT_EQ(view.kind(), MessageKind::sequence_example);
  EXPECT_TRUE(view.features().empty());
  ASSERT_EQ(view.feature_lists().size(), 1u);
  EXPECT_NE(view.find_feature_list(name), nullptr);
}

TEST(MessageViewDifferential, Examples) {
  MessageView view;
  size_t examples = 0;
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    const std::string bytes = ExampleGenerator(seed).example();
    proto::Example parsed;
    ASSERT_TRUE(parsed.ParseFromString(bytes));
    view.read(as_bytes(bytes));
    if (view.kind() != MessageKind::example) continue;  // for example only unknown fields
    ++examples;
    expect_same_features(view, parsed.features());
    if (HasFatalFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(examples, 2500u);
}

TEST(MessageViewDifferential, SequenceExamples) {
  MessageView view;
  size_t sequences = 0;
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    const std::string bytes = ExampleGenerator(seed).sequence_example();
    proto::SequenceExample parsed;
    ASSERT_TRUE(parsed.ParseFromString(bytes));
    view.read(as_bytes(bytes));
    if (view.kind() != MessageKind::sequence_example) continue;
    ++sequences;
    expect_same_features(view, parsed.context());
    expect_same_lists(view, parsed.feature_lists());
    if (HasFatalFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(sequences, 2000u);
}

TEST(MessageViewDifferential, WhatProtobufRefusesIsUnknown) {
  const google::protobuf::LogSilencer no_complaints_about_utf8;
  MessageView view;
  size_t refused = 0;
  for (uint64_t seed = 0; seed < 20000; ++seed) {
    ExampleGenerator generator(seed % 3000);
    const bool sequence = seed % 2 == 1;
    const std::string whole = sequence ? generator.sequence_example() : generator.example();
    const std::string bytes = Mutator(seed).mutate(whole, generator.example());
    view.read(as_bytes(bytes));
    if (!proto::SequenceExample().ParseFromString(bytes) &&
        !proto::Example().ParseFromString(bytes)) {
      ++refused;
      EXPECT_EQ(view.kind(), MessageKind::unknown) << to_hex(bytes);
    }
  }
  EXPECT_GT(refused, 1000u);
}

}  // namespace
}  // namespace recordpipe
