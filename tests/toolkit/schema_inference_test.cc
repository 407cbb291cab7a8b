// Tests schemas inferred from records.
#include "recordpipe/toolkit/schema_inference.h"

#include <string>

#include <gtest/gtest.h>

#include "recordpipe/example/example_builder.h"
#include "tests/support/bytes.h"
#include "tests/support/example_generator.h"

namespace recordpipe {
namespace {

void add(InferredSchema& schema, const std::string& record) {
  MessageView message;
  message.read(as_bytes(record));
  schema.add(message, record.size());
}

TEST(InferredSchema, KindsNumbersAndShares) {
  const std::vector<int64_t> two = {1, 2};
  InferredSchema schema;
  add(schema, ExampleBuilder().set_int64("a", 1).set_bytes("b", "x").serialize());
  add(schema, ExampleBuilder().set_int64s("a", two).set_float("c", 1).serialize());
  add(schema, ExampleBuilder().set_float("b", 1).serialize());
  add(schema, from_hex("0a070a050a01611200"));  // feature a without a list
  EXPECT_EQ(schema.records, 4u);
  EXPECT_EQ(schema.kind(), MessageKind::example);
  const InferredFeature& a = schema.features.at("a");
  EXPECT_EQ(a.kind(), FeatureKind::int64s);
  EXPECT_EQ(a.with_list(), 2u);
  EXPECT_EQ(a.count(FeatureKind::none), 1u);
  EXPECT_EQ(a.min_values, 1u);
  EXPECT_EQ(a.max_values, 2u);
  EXPECT_FALSE(a.fixed());
  EXPECT_EQ(schema.features.at("b").kind(), std::nullopt);
  EXPECT_TRUE(schema.features.at("b").fixed());
  EXPECT_EQ(schema.features.at("c").with_list(), 1u);
}

TEST(InferredSchema, FixedValuesAreThoseThatEachRecordHas) {
  InferredSchema schema;
  for (int i = 0; i < 2; ++i) {
    ExampleBuilder example;
    example.set_int64s("two", std::vector<int64_t>{1, 2}).set_int64s("none", {});
    if (i == 0) example.set_int64("rare", 1);
    add(schema, example.serialize());
  }
  EXPECT_EQ(schema.with_features(), 2u);
  EXPECT_EQ(schema.fixed_values(schema.features.at("two")), 2u);
  EXPECT_EQ(schema.fixed_values(schema.features.at("none")), std::nullopt);
  EXPECT_EQ(schema.fixed_values(schema.features.at("rare")), std::nullopt);
  add(schema, "");  // an Example without features
  EXPECT_EQ(schema.with_features(), 3u);
  EXPECT_EQ(schema.fixed_values(schema.features.at("two")), std::nullopt);
}

TEST(InferredSchema, EmptyRecordsAreOfAnyKind) {
  InferredSchema schema;
  EXPECT_EQ(schema.kind(), MessageKind::unknown);
  add(schema, "");
  EXPECT_EQ(schema.kind(), MessageKind::example);
  add(schema, "text");
  EXPECT_EQ(schema.kind(), MessageKind::unknown);
  add(schema, ExampleBuilder().set_int64("a", 1).serialize());
  EXPECT_EQ(schema.kind(), std::nullopt);
}

TEST(InferredSchema, PartsMergeToTheWhole) {
  InferredSchema whole;
  InferredSchema merged;
  InferredSchema part;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    ExampleGenerator generator(seed);
    const std::string record = seed % 3 == 0 ? generator.sequence_example() : generator.example();
    add(whole, record);
    add(part, record);
    if (seed % 7 != 0) continue;
    merged.merge(part);
    part = {};
  }
  merged.merge(part);
  EXPECT_EQ(merged.records, whole.records);
  EXPECT_EQ(merged.by_kind, whole.by_kind);
  ASSERT_EQ(merged.features.size(), whole.features.size());
  for (const auto& [name, feature] : whole.features) {
    const InferredFeature& other = merged.features.at(name);
    EXPECT_EQ(other.by_kind, feature.by_kind);
    EXPECT_EQ(other.min_values, feature.min_values);
    EXPECT_EQ(other.max_values, feature.max_values);
  }
  ASSERT_EQ(merged.feature_lists.size(), whole.feature_lists.size());
  for (const auto& [name, list] : whole.feature_lists) {
    const InferredFeatureList& other = merged.feature_lists.at(name);
    EXPECT_EQ(other.records, list.records);
    EXPECT_EQ(other.min_steps, list.min_steps);
    EXPECT_EQ(other.max_steps, list.max_steps);
    EXPECT_EQ(other.step.by_kind, list.step.by_kind);
  }
}

TEST(InferredSchema, NamesBeyondTheLimitAreCountedOnly) {
  InferredSchema schema;
  for (size_t i = 0; i < InferredSchema::kMaxNames + 10; ++i) {
    add(schema, ExampleBuilder().set_int64("n" + std::to_string(i), 1).serialize());
  }
  EXPECT_EQ(schema.features.size(), InferredSchema::kMaxNames);
  EXPECT_EQ(schema.left_out, 10u);
}

TEST(InferredSchema, LongNamesBeyondTheLimitAreCountedOnly) {
  InferredSchema schema;
  InferredSchema merged;
  constexpr size_t kSize = 100'000;
  constexpr size_t kMax = InferredSchema::kMaxNameBytes / kSize;
  for (size_t i = 0; i < kMax + 10; ++i) {
    const std::string name = std::to_string(i) + std::string(kSize - std::to_string(i).size(), 'x');
    InferredSchema part;
    for (InferredSchema* to : {&schema, &part}) {
      add(*to, ExampleBuilder().set_int64(name, 1).serialize());
    }
    merged.merge(part);
  }
  for (InferredSchema* all : {&schema, &merged}) {
    add(*all, ExampleBuilder().set_int64("a short one", 1).serialize());
    EXPECT_EQ(all->features.size(), kMax + 1);
    EXPECT_EQ(all->left_out, 10u);
  }
}

}  // namespace
}  // namespace recordpipe
