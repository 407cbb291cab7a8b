// Tests pipelines from records to batches of columns.
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/example/example_builder.h"
#include "recordpipe/example/parse_example.h"
#include "recordpipe/example/parse_sequence_example.h"
#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/pipeline/from_vector.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/bytes.h"

namespace recordpipe {
namespace {

using ::testing::HasSubstr;

constexpr int kRecords = 500;

// Record i: label i, and i % 11 words i, i + 1, ...
const std::vector<std::string>& examples() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> out;
    for (int i = 0; i < kRecords; ++i) {
      std::vector<int64_t> words;
      for (int word = 0; word < i % 11; ++word) words.push_back(i + word);
      out.push_back(ExampleBuilder()
                        .set_int64("label", i)
                        .set_bytes("name", as_bytes(std::to_string(i)))
                        .set_int64s("words", words)
                        .serialize());
    }
    return out;
  }();
  return all;
}

Dataset<Record> records() {
  std::vector<Record> all;
  for (const std::string& example : examples()) all.push_back({.data = as_bytes(example)});
  return from_vector(std::move(all));
}

ExampleSchema schema() {
  return {{"label", FixedLen{FeatureKind::int64s}},
          {"name", FixedLen{FeatureKind::bytes}},
          {"words", Ragged{FeatureKind::int64s}}};
}

TEST(ExampleBatches, HoldEachRecordsValuesInItsRow) {
  for (const size_t threads : {1, 2, 4, 16}) {
    for (const size_t chunk_size : {1, 7, 64}) {
      int64_t i = 0;
      for (const ExampleBatch& batch :
           records()
               .batch(32, DropRemainder::no, ExampleCollator(schema()))
               .prefetch(2)
               .with_options({.threads = threads, .chunk_size = chunk_size})) {
        const auto labels = batch.dense<FeatureKind::int64s>("label");
        const auto names = batch.dense<FeatureKind::bytes>("name");
        const auto words = batch.ragged<FeatureKind::int64s>("words");
        for (size_t row = 0; row < batch.size(); ++row, ++i) {
          ASSERT_EQ(labels.values[row], i);
          ASSERT_EQ(as_text(names.values[row]), std::to_string(i));
          ASSERT_EQ(words.row(row).size(), static_cast<size_t>(i % 11));
          for (size_t word = 0; word < words.row(row).size(); ++word) {
            ASSERT_EQ(words.row(row)[word], i + static_cast<int64_t>(word));
          }
        }
      }
      ASSERT_EQ(i, kRecords);
    }
  }
}

TEST(ExampleBatches, OfSequenceExamplesToo) {
  const SequenceExampleCollator features({.context = schema()});
  size_t rows = 0;
  for (const SequenceExampleBatch& batch : records().batch(64, DropRemainder::no, features)) {
    rows += batch.size();
  }
  EXPECT_EQ(rows, static_cast<size_t>(kRecords));
}

TEST(ExampleBatches, APlaceOfAnotherSchemaIsRefusedByName) {
  const auto with = [](const ExampleSchema& features) {
    return records().batch(32, DropRemainder::no, ExampleCollator(features));
  };
  const std::string state = with(schema()).iterate().state();
  const auto refusal = [&](const auto& dataset) -> std::string {
    auto pass = dataset.iterate();
    try {
      pass.restore(state);
    } catch (const Error& error) {
      return error.reason();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal(with(schema())), "accepted");
  const auto changed = [&](const std::string& name, auto form) {
    ExampleSchema features = schema();
    features[name] = std::move(form);
    return refusal(with(features));
  };
  EXPECT_THAT(changed("name", Ragged{FeatureKind::bytes}), HasSubstr("'name': ragged bytes"));
  EXPECT_THAT(changed("label", FixedLen{FeatureKind::int64s, {1}}),
              HasSubstr("'label': int64s[1]"));
  EXPECT_THAT(changed("label", FixedLen{FeatureKind::floats}), HasSubstr("'label': floats"));
  EXPECT_THAT(changed("label", FixedLen{FeatureKind::int64s, {}, std::vector<int64_t>{7}}),
              HasSubstr("'label': int64s or [7]"));
  const std::vector<std::string> long_text = {std::string(100, 'x')};
  EXPECT_THAT(changed("name", FixedLen{FeatureKind::bytes, {}, long_text}),
              HasSubstr("'name': bytes or values of crc32c"));
  EXPECT_THAT(changed("other\n", Ragged{FeatureKind::int64s}), HasSubstr("x0a': ragged int64s"));
  const auto of_sequences =
      records().batch(32, DropRemainder::no, SequenceExampleCollator({.context = schema()}));
  EXPECT_THAT(refusal(of_sequences), HasSubstr("feature_lists={}"));
}

TEST(ExampleBatches, AreCountedAsMemory) {
  constexpr size_t kSize = size_t{1} << 20;
  const std::vector<std::byte> image(kSize);
  const std::vector<float> floats(kSize / sizeof(float));
  const std::vector<int64_t> int64s(kSize / sizeof(int64_t), -1);
  const std::string example = ExampleBuilder()
                                  .set_bytes("image", image)
                                  .set_floats("floats", floats)
                                  .set_int64s("int64s", int64s)
                                  .serialize();
  const ExampleSchema large = {{"image", FixedLen{FeatureKind::bytes}},
                               {"floats", Ragged{FeatureKind::floats}},
                               {"int64s", FixedLen{FeatureKind::int64s, {int64s.size()}}}};
  const auto source = from_vector<Record>(std::vector<Record>(4, {.data = as_bytes(example)}));
  const auto peak_of = [&](auto collator) {
    const auto batches = source.batch(4, DropRemainder::no, std::move(collator));
    auto pass = batches.with_options({.threads = 1}).iterate();
    while (pass.next()) {
    }
    return pass.memory().peak;
  };
  EXPECT_GE(peak_of(ExampleCollator(large)), 12 * kSize);
  EXPECT_GE(peak_of(SequenceExampleCollator({.context = large})), 12 * kSize);
}

TEST(ExampleBatches, OutliveTheIteratorAndTheRecords) {
  ExampleBatch kept;
  {
    const std::string example = ExampleBuilder().set_bytes("name", as_bytes("n")).serialize();
    const auto batches =
        from_vector<Record>({{.data = as_bytes(example)}})
            .batch(1, DropRemainder::no, ExampleCollator({{"name", FixedLen{FeatureKind::bytes}}}));
    kept = std::move(*batches.iterate().next());
  }
  EXPECT_EQ(as_text(kept.dense<FeatureKind::bytes>("name").values[0]), "n");
}

TEST(ExampleBatches, ABadRecordIsAnErrorAfterTheBatchesBeforeIt) {
  std::vector<Record> all;
  for (const std::string& example : examples()) {
    all.push_back({.data = as_bytes(example), .offset = all.size(), .path = "a.tfrecords"});
  }
  all[100].data = {};
  const auto batches =
      from_vector(std::move(all)).batch(32, DropRemainder::no, ExampleCollator(schema()));
  for (const size_t threads : {1, 4}) {
    const auto dataset = batches.with_options({.threads = threads, .chunk_size = 5});
    auto pass = dataset.iterate();
    for (int i = 0; i < 3; ++i) ASSERT_NE(pass.next(), nullptr);
    try {
      pass.next();
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.offset(), 100u);
      EXPECT_THAT(error.what(), HasSubstr("feature 'label' is missing"));
    }
  }
}

TEST(ExampleBatches, ASteadyStateAllocatesNothing) {
  const auto batches = records().repeat().batch(32, DropRemainder::no, ExampleCollator(schema()));
  const auto dataset = batches.with_options({.threads = 1});
  auto pass = dataset.iterate();
  for (int i = 0; i < 2000; ++i) ASSERT_NE(pass.next(), nullptr);
  const size_t before = allocations();
  for (int i = 0; i < 500; ++i) ASSERT_NE(pass.next(), nullptr);
  EXPECT_EQ(allocations(), before);
}

}  // namespace
}  // namespace recordpipe
