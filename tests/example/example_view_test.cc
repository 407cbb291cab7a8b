#include "recordpipe/example/example_view.h"

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "recordpipe/base/error.h"
#include "recordpipe/example/example_builder.h"
#include "recordpipe/proto/example.pb.h"
#include "recordpipe/record/record_reader.h"
#include "tests/support/bytes.h"
#include "tests/support/example_comparison.h"
#include "tests/support/expect_error.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;

// Returns an Example with one feature "k" whose Feature message is `hex`, shorter than 64 bytes.
std::string example_with(const std::string& hex) {
  const std::string feature = from_hex(hex);
  const auto nested = [](char tag, const std::string& content) {
    return std::string{tag, static_cast<char>(content.size())} + content;
  };
  return nested(0x0a, nested(0x0a, nested(0x0a, "k") + nested(0x12, feature)));
}

// Returns a view into `example`.
FeatureView feature_k(const std::string& example) {
  const auto feature = find_feature(as_bytes(example), "k");
  if (!feature) throw std::runtime_error("feature k not found");
  return *feature;
}

// Expects that both the view and protobuf refuse `example`; returns the view's error.
Error view_error(const std::string& example) {
  EXPECT_EQ(difference_from_protobuf(as_bytes(example)), "");
  return error_of([&] { find_feature(as_bytes(example), "k"); });
}

TEST(ExampleView, AnImageAndItsLabel) {
  const std::string image(3072, '\xa5');
  const std::string example =
      ExampleBuilder().set_bytes("image", as_bytes(image)).set_int64("label", 7).serialize();
  const auto found = find_feature(as_bytes(example), "image")->single_bytes();
  ASSERT_TRUE(found);
  EXPECT_EQ(as_text(*found), image);
  EXPECT_GE(reinterpret_cast<const char*>(found->data()), example.data());  // a view, not a copy
  EXPECT_LE(reinterpret_cast<const char*>(found->data()), example.data() + example.size());
  EXPECT_EQ(find_feature(as_bytes(example), "label")->single_int64(), 7);
  EXPECT_FALSE(find_feature(as_bytes(example), "coarse_label"));
}

TEST(ExampleView, AllFeaturesInOnePass) {
  const std::string twice =
      ExampleBuilder().set_int64("a", 1).set_float("b", 2).serialize() +  // they merge
      ExampleBuilder().set_int64("a", 3).serialize();
  std::vector<std::string> names;
  std::optional<int64_t> last;
  for_each_feature(as_bytes(twice), [&](std::string_view name, FeatureView feature) {
    names.emplace_back(name);
    if (name == "a") last = feature.single_int64();
  });
  EXPECT_THAT(names, ElementsAre("a", "b", "a"));
  EXPECT_EQ(last, 3);
}

TEST(ExampleView, PublishedVectors) {
  const std::string value = from_hex("0a120a100a036b657912090a070a0576616c7565");
  EXPECT_EQ(as_text(*find_feature(as_bytes(value), "key")->single_bytes()), "value");
}

TEST(ExampleView, PackedAndUnpackedAreTheSame) {
  for (const char* hex : {"0a0e0a0c0a0361676512051a030a010d", "0a0d0a0b0a0361676512041a02080d"}) {
    const std::string example = from_hex(hex);
    EXPECT_EQ(find_feature(as_bytes(example), "age")->single_int64(), 13) << hex;
  }
  EXPECT_EQ(feature_k(example_with("12060a040000c03f")).single_float(), 1.5f);
  EXPECT_EQ(feature_k(example_with("12050d0000c03f")).single_float(), 1.5f);
}

// TensorFlow's fast parser keeps only the first piece.
TEST(ExampleView, SeveralPackedPiecesAreOneList) {
  const std::string example = example_with("1a0b 0a0101 0a020203 0804 0a00");
  const FeatureView feature = feature_k(example);
  EXPECT_THAT(feature.int64_values(), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(feature.size(), 4u);
  EXPECT_FALSE(feature.single_int64());
}

TEST(ExampleView, AListInTwoMessagesMerges) {
  EXPECT_THAT(feature_k(example_with("1a030a0101 1a030a0102")).int64_values(), ElementsAre(1, 2));
}

TEST(ExampleView, AnotherKindReplacesAList) {
  const std::string example = example_with("1a030a0101 0a00 1a030a0102");
  const FeatureView feature = feature_k(example);
  EXPECT_EQ(feature.kind(), FeatureKind::int64s);
  EXPECT_EQ(feature.single_int64(), 2);
  EXPECT_THAT(feature.int64_values(), ElementsAre(2));
  EXPECT_EQ(feature_k(example_with("1a030a0101 0a00")).kind(), FeatureKind::bytes);
  EXPECT_EQ(feature_k(example_with("1a030a0101 0a00")).size(), 0u);
}

TEST(ExampleView, OfADuplicateKeyTheLastWins) {
  const std::string first = ExampleBuilder().set_int64("k", 1).set_int64("a", 5).serialize();
  const std::string second = ExampleBuilder().set_int64("k", 2).serialize();
  const std::string both = first + second;  // concatenated messages merge
  EXPECT_EQ(feature_k(both).single_int64(), 2);
  EXPECT_EQ(find_feature(as_bytes(both), "a")->single_int64(), 5);
}

TEST(ExampleView, AMissingFeatureAndOneOfTheWrongKind) {
  const std::string example = ExampleBuilder().set_int64("k", 1).serialize();
  EXPECT_FALSE(find_feature(as_bytes(example), "image"));
  EXPECT_FALSE(feature_k(example).single_bytes());
  EXPECT_FALSE(feature_k(example).single_float());
  EXPECT_THAT(feature_k(example).bytes_values(), testing::IsEmpty());
}

TEST(ExampleView, AFeatureWithNothingSet) {
  const std::string example = example_with("");
  const FeatureView feature = feature_k(example);
  EXPECT_EQ(feature.kind(), FeatureKind::none);
  EXPECT_EQ(feature.size(), 0u);
  EXPECT_FALSE(feature.single_int64());
}

TEST(ExampleView, NoBytesAreAnEmptyExample) { EXPECT_FALSE(find_feature({}, "k")); }

TEST(ExampleView, TrailingZerosOfBytesAreData) {
  const std::string value("a\0\0", 3);
  const std::string example = ExampleBuilder().set_bytes("k", as_bytes(value)).serialize();
  EXPECT_EQ(as_text(*feature_k(example).single_bytes()), value);
}

TEST(ExampleView, ExtremeNumbers) {
  for (const int64_t value : {int64_t{-1}, int64_t{10}, std::numeric_limits<int64_t>::min(),
                              std::numeric_limits<int64_t>::max()}) {
    EXPECT_EQ(feature_k(ExampleBuilder().set_int64("k", value).serialize()).single_int64(), value);
  }
  const std::string nan = ExampleBuilder().set_float("k", std::nanf("")).serialize();
  EXPECT_TRUE(std::isnan(*feature_k(nan).single_float()));
}

// The context of a SequenceExample is field 1, like the features of an Example.
TEST(ExampleView, ReadsTheContextOfASequenceExample) {
  proto::SequenceExample sequence;
  (*sequence.mutable_context()->mutable_feature())["k"].mutable_int64_list()->add_value(3);
  (*sequence.mutable_feature_lists()->mutable_feature_list())["steps"].add_feature();
  EXPECT_EQ(feature_k(sequence.SerializeAsString()).single_int64(), 3);
}

// Examples by another writer (see data/README.md).
TEST(ExampleView, GoldenExamples) {
  std::vector<std::string> examples;
  RecordReader reader(posix_file_system(), RECORDPIPE_DATA_DIR "/golden/examples.tfrecords");
  while (const auto record = reader.read()) examples.push_back(as_text(record->data));
  ASSERT_EQ(examples.size(), 10u);
  for (const std::string& example : examples) {
    EXPECT_EQ(difference_from_protobuf(as_bytes(example)), "") << to_hex(example);
  }
  const auto feature = [&](size_t i, const char* name) {
    return find_feature(as_bytes(examples[i]), name);
  };
  EXPECT_EQ(feature(0, "image")->single_bytes()->size(), 3072u);
  EXPECT_EQ(feature(0, "label")->single_int64(), 7);
  EXPECT_EQ(as_text(*feature(1, "image")->single_bytes()), "small");
  EXPECT_THAT(feature(2, "age")->int64_values(), ElementsAre(13, -1));
  EXPECT_THAT(feature(3, "age")->int64_values(), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(feature(4, "x")->float_values()[1], std::numeric_limits<float>::infinity());
  EXPECT_EQ(feature(5, "a")->single_int64(), 2);
  EXPECT_THAT(feature(6, "a")->int64_values(), ElementsAre(2));
  EXPECT_EQ(feature(7, "a")->single_int64(), 1);
  EXPECT_EQ(feature(8, "a")->kind(), FeatureKind::none);
  EXPECT_FALSE(feature(9, "a"));
}

TEST(ExampleView, WhatIsNoProtobufIsRefused) {
  const Error error = view_error("<!DOCTYPE html>");
  EXPECT_EQ(error.kind(), ErrorKind::corrupted);
  EXPECT_TRUE(error.offset());
}

TEST(ExampleView, AnInvalidWireTypeIsRefused) {
  EXPECT_EQ(view_error(from_hex("0e")).offset(), 1u);
  EXPECT_EQ(view_error(from_hex("0f")).offset(), 1u);
  view_error(example_with("0e"));
}

TEST(ExampleView, AGroupWithoutItsStartOrEndIsRefused) {
  view_error(from_hex("0c"));
  view_error(from_hex("0b"));
  view_error(from_hex("0b 14"));
}

TEST(ExampleView, AZeroTagIsRefused) {
  view_error(from_hex("00"));
  view_error(from_hex("02 00"));
}

TEST(ExampleView, LengthsThatLieAreRefused) {
  view_error(from_hex("0a 05 0a 03"));
  view_error(from_hex("0a ffffffff07"));
  view_error(from_hex("0a ffffffff0f"));
  view_error(from_hex("0a ffffffffffffffffff01"));
}

TEST(ExampleView, VarintsThatDoNotEndAreRefused) {
  view_error(from_hex("08 80"));
  view_error(from_hex("08 ffffffffffffffffffffff01"));
  view_error(example_with("1a030a0180"));
}

TEST(ExampleView, APackedFloatCutInHalfIsRefused) { view_error(example_with("12050a03000000")); }

TEST(ExampleView, AKeyThatIsNotUtf8IsRefused) {
  view_error(from_hex("0a 07 0a 05 0a01ff 1200"));
  view_error(from_hex("0a 09 0a 07 0a03eda080 1200"));  // a surrogate
}

// Found by example_fuzz: the last list, which is the valid one, is intact; the list it replaces is
// damaged.
TEST(ExampleView, ADamagedListIsRefusedThoughAnotherReplacesIt) {
  view_error(example_with("0a020109 1a030a0101"));
  view_error(example_with("12020109 1a030a0101"));
  view_error(example_with("0a020109 12060a0400000000"));
}

// A damaged feature is detected even if another feature is requested.
TEST(ExampleView, AllFeaturesAreChecked) {
  const std::string example =
      ExampleBuilder().set_int64("k", 1).serialize() + from_hex("0a 0a 0a 08 0a0178 1203 1a01 80");
  view_error(example);
}

// Only address space is reserved: the size is rejected before any byte is read.
TEST(ExampleView, TwoGigabytesAreRefusedAsProtobufRefusesThem) {
  const size_t size = size_t{1} << 31;
  void* start =
      ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(start, MAP_FAILED);
  const std::span example(static_cast<const std::byte*>(start), size);
  EXPECT_EQ(error_of([&] { find_feature(example, "k"); }).kind(), ErrorKind::limit_exceeded);
  ::munmap(start, size);
}

TEST(ExampleView, DeepNestingIsRefusedAtProtobufsDepth) {
  for (size_t depth : {1u, 50u, 99u, 100u, 101u, 100000u}) {
    const std::string groups = std::string(depth, '\x0b') + std::string(depth, '\x0c');
    EXPECT_EQ(difference_from_protobuf(as_bytes(groups)), "") << depth;
    if (depth > 100) view_error(groups);
  }
  // Inside a list, four messages deep.
  for (size_t depth = 90; depth < 100; ++depth) {
    const auto nested = [](char tag, const std::string& content) {
      std::string out{tag};
      out += static_cast<char>(content.size() % 128 + 128);
      out += static_cast<char>(content.size() / 128);
      return out + content;
    };
    const std::string list = std::string(depth, '\x13') + std::string(depth, '\x14');
    const std::string example =
        nested(0x0a, nested(0x0a, nested(0x0a, "k") + nested(0x12, nested(0x0a, list))));
    EXPECT_EQ(difference_from_protobuf(as_bytes(example)), "") << depth;
  }
}

}  // namespace
}  // namespace recordpipe
