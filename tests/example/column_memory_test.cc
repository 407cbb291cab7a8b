// Tests that decoding reuses the memory of batches, and that this memory is proportional to the
// records.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/example/example_builder.h"
#include "recordpipe/example/parse_example.h"
#include "recordpipe/example/parse_sequence_example.h"
#include "recordpipe/proto/example.pb.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/bytes.h"

namespace recordpipe {
namespace {

std::vector<Record> records_of(const std::vector<std::string>& messages) {
  std::vector<Record> records;
  for (const std::string& message : messages) records.push_back({.data = as_bytes(message)});
  return records;
}

// Expects that passes after the first, over the same batches of 16 records, don't allocate.
template <class Collator, class Parse>
void expect_no_allocations(const std::vector<Record>& records, const Collator& collator,
                           Parse parse) {
  typename Collator::Batch batch;
  const auto pass = [&] {
    for (size_t first = 0; first < records.size(); first += 16) {
      batch = parse(std::span(records).subspan(first, 16), collator, std::move(batch));
    }
  };
  pass();
  const size_t before = allocations();
  pass();
  pass();
  EXPECT_EQ(allocations(), before);
  EXPECT_EQ(batch.size(), 16u);
}

TEST(ColumnMemory, ASteadyStateOfExamplesAllocatesNothing) {
  std::vector<std::string> examples;
  const std::string mask = from_hex("0805 1204 12020802 2204 01000200");  // int16 [2]
  for (size_t i = 0; i < 160; ++i) {
    const std::string image(i * 37 % 500, 'i');
    const std::vector<int64_t> words(i % 20, 300);
    ExampleBuilder builder;
    builder.set_bytes("image", as_bytes(image)).set_int64s("words", words);
    builder.set_bytes("mask", as_bytes(mask)).set_bytes("steps", as_bytes(mask));
    if (i % 3 != 0) builder.set_int64("label", 7);
    examples.push_back(builder.serialize());
  }
  const size_t before = allocations();
  const ExampleCollator collator(
      {{"image", FixedLen{FeatureKind::bytes}},
       {"label", FixedLen{FeatureKind::int64s, {}, std::vector<int64_t>{-1}}},
       {"mask", SerializedTensor{.type = TensorType::int16, .shape = {2}}},
       {"missing", Ragged{FeatureKind::floats}},
       {"steps", SerializedTensor{.type = TensorType::int16, .ragged = true}},
       {"words", Ragged{FeatureKind::int64s}}});
  EXPECT_GT(allocations(), before);  // the counter works
  expect_no_allocations(records_of(examples), collator, parse_example);
}

TEST(ColumnMemory, ASteadyStateOfSequenceExamplesAllocatesNothing) {
  std::vector<std::string> sequences;
  for (int i = 0; i < 160; ++i) {
    proto::SequenceExample sequence;
    auto& lists = *sequence.mutable_feature_lists()->mutable_feature_list();
    for (int step = 0; step < i % 7; ++step) {
      lists["frames"].add_feature()->mutable_bytes_list()->add_value(std::string(i, 'f'));
      auto& words = *lists["words"].add_feature()->mutable_float_list();
      for (int word = 0; word < step; ++word) words.add_value(1);
    }
    sequences.push_back(sequence.SerializeAsString());
  }
  const SequenceExampleCollator collator(
      {.context = {{"k", Ragged{FeatureKind::int64s}}},
       .feature_lists = {{"frames", FixedLenSequence{FeatureKind::bytes, {}, true}},
                         {"words", Ragged{FeatureKind::floats}}}});
  expect_no_allocations(records_of(sequences), collator, parse_sequence_example);
}

}  // namespace
}  // namespace recordpipe
