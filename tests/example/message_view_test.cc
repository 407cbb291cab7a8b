// Compares the kind and the features of a record's message with protobuf's parser.
#include "recordpipe/example/message_view.h"

#include <algorithm>
#include <string>
#include <vector>

#include <google/protobuf/message.h>
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include "recordpipe/example/feature_values.h"
#include "recordpipe/proto/example.pb.h"
#include "tests/support/bytes.h"
#include "tests/support/example_generator.h"
#include "tests/support/expected_values.h"
#include "tests/support/mutator.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

std::string golden(const std::string& name) {
  return read_file(RECORDPIPE_DATA_DIR "/golden/" + name);
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

// Whether a message, or one in it, has fields that its type lacks.
bool has_unknown_fields(const google::protobuf::Message& message) {
  const auto* const reflection = message.GetReflection();
  if (!reflection->GetUnknownFields(message).empty()) return true;
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const auto* const field : fields) {
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const int count = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      const auto& inner = field->is_repeated() ? reflection->GetRepeatedMessage(message, field, i)
                                               : reflection->GetMessage(message, field);
      if (has_unknown_fields(inner)) return true;
    }
  }
  return false;
}

// For a record whose kind was found out: its features are the whole message.
void expect_all_read(const MessageView& view, const google::protobuf::Message& parsed) {
  EXPECT_FALSE(view.unread()) << view.unread()->what;
  EXPECT_FALSE(has_unknown_fields(parsed));
}

TEST(MessageView, OneNameGivenOftenIsOneFeature) {
  std::string bytes;
  for (int i = 0; i < 10000; ++i) bytes += from_hex("0a0c0a0a0a01611205 1a030a0100");
  bytes.back() = 5;
  MessageView view(MessageKind::example);
  view.read(as_bytes(bytes));
  ASSERT_EQ(view.features().size(), 1u);
  EXPECT_EQ(view.features()[0].feature.single_int64(), 5);
  ASSERT_TRUE(view.unread());
  EXPECT_EQ(view.unread()->what, "a second feature \"a\"");
  EXPECT_TRUE(view.unread()->is_replaced);
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
  MessageView view(MessageKind::example);
  size_t examples = 0;
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    const std::string bytes = ExampleGenerator(seed).example();
    proto::Example parsed;
    ASSERT_TRUE(parsed.ParseFromString(bytes));
    view.read(as_bytes(bytes));
    ASSERT_EQ(view.kind(), MessageKind::example);
    expect_same_features(view, parsed.features());
    if (HasFatalFailure()) FAIL() << "seed " << seed;
    if (message_kind(as_bytes(bytes)) != MessageKind::example) continue;
    ++examples;
    expect_all_read(view, parsed);
  }
  EXPECT_GT(examples, 500u);
}

TEST(MessageViewDifferential, SequenceExamples) {
  MessageView view(MessageKind::sequence_example);
  size_t sequences = 0;
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    const std::string bytes = ExampleGenerator(seed).sequence_example();
    proto::SequenceExample parsed;
    ASSERT_TRUE(parsed.ParseFromString(bytes));
    view.read(as_bytes(bytes));
    ASSERT_EQ(view.kind(), MessageKind::sequence_example);
    expect_same_features(view, parsed.context());
    expect_same_lists(view, parsed.feature_lists());
    if (HasFatalFailure()) FAIL() << "seed " << seed;
    if (message_kind(as_bytes(bytes)) != MessageKind::sequence_example) continue;
    ++sequences;
    expect_all_read(view, parsed);
  }
  EXPECT_GT(sequences, 200u);
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
