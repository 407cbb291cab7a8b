// Tests bucket_by_sequence_length, pack_sequences and choose_from_datasets.
#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/pipeline/choose_from_datasets.h"
#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/pipeline/from_vector.h"
#include "recordpipe/pipeline/memory_use.h"
#include "recordpipe/pipeline/range.h"
#include "tests/pipeline/collect.h"
#include "tests/pipeline/resume.h"
#include "tests/support/expect_error.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Tokens = std::vector<int>;

// Sequence i has `lengths[i]` values i * 100, i * 100 + 1, ...
Dataset<Tokens> sequences(const std::vector<size_t>& lengths) {
  std::vector<Tokens> all;
  for (size_t i = 0; i < lengths.size(); ++i) {
    Tokens tokens = numbers(static_cast<int>(lengths[i]));
    for (int& token : tokens) token += static_cast<int>(i) * 100;
    all.push_back(std::move(tokens));
  }
  return from_vector(std::move(all));
}

std::vector<size_t> many_lengths(size_t count) {
  std::vector<size_t> lengths;
  for (size_t i = 0; i < count; ++i) lengths.push_back(i * i * 7 % 31);
  return lengths;
}

std::vector<size_t> sizes_of(const std::vector<Tokens>& rows) {
  std::vector<size_t> sizes;
  for (const Tokens& row : rows) sizes.push_back(row.size());
  return sizes;
}

const auto kSize = [](const Tokens& tokens) { return tokens.size(); };

TEST(Buckets, AreYieldedWhenFullAndTheRestByLength) {
  const auto source = sequences({4, 9, 1, 3, 12, 2, 4, 10, 3});
  const LengthBuckets buckets{{3, 5}, {2, 2, 2}};
  std::vector<std::vector<size_t>> sizes;
  for (const auto& batch : source.bucket_by_sequence_length(kSize, buckets)) {
    sizes.push_back(sizes_of(batch));
  }
  EXPECT_THAT(sizes, ElementsAre(ElementsAre(4, 3), ElementsAre(9, 12), ElementsAre(1, 2),
                                 ElementsAre(4, 3), ElementsAre(10)));
  sizes.clear();
  const LengthBuckets whole{{3, 5}, {2, 2, 2}, /*drop_remainder=*/true};
  for (const auto& batch : source.bucket_by_sequence_length(kSize, whole)) {
    sizes.push_back(sizes_of(batch));
  }
  EXPECT_EQ(sizes.size(), 4u);
}

TEST(Buckets, OfVectorsArePaddedToTheLongestRow) {
  const LengthBuckets buckets{{3}, {2, 2}};
  const auto batches =
      collect(sequences({2, 4, 1, 6}).bucket_by_sequence_length(buckets, /*padding=*/-1));
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_EQ(batches[0].length, 2u);
  EXPECT_THAT(batches[0].values, ElementsAre(0, 1, 200, -1));
  EXPECT_THAT(batches[0].lengths, ElementsAre(2, 1));
  EXPECT_EQ(batches[1].length, 6u);
}

TEST(Buckets, ArePaddedToTheirBoundary) {
  const LengthBuckets buckets{{3, 8}, {2, 2, 1}};
  const auto dataset = sequences({0, 2, 4, 7, 8, 1, 1})
                           .bucket_by_sequence_length(buckets, -1, PadToBucketBoundary::yes);
  auto iterator = dataset.iterate();
  EXPECT_EQ(iterator.next()->length, 2u);
  EXPECT_EQ(iterator.next()->length, 7u);
  // Nothing is longer than the last boundary.
  const Error error = error_of([&] { iterator.next(); });
  EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
  EXPECT_THAT(error.reason(), HasSubstr("a sequence of 8 values, where at most 7 fit"));
  const auto good = collect(dataset.ignore_errors());
  ASSERT_EQ(good.size(), 3u);
  EXPECT_THAT(good.back().values, ElementsAre(500, -1, 600, -1));
}

TEST(Buckets, GoOnAnywhere) {
  const auto source = sequences(many_lengths(200)).shuffle(30, 3).repeat(2);
  const LengthBuckets buckets{{5, 9, 20}, {7, 3, 12, 60}};
  const auto dataset = source.bucket_by_sequence_length(kSize, buckets);
  expect_resumes_anywhere(dataset, on_any_machine(dataset));
  // Elements that a filter lets pass are found again.
  const auto filtered = source.filter([](const Tokens& t) { return t.size() % 3 != 1; })
                            .bucket_by_sequence_length(buckets, 0)
                            .prefetch(2);
  expect_resumes_anywhere(filtered, on_any_machine(filtered), 3);
}

TEST(Buckets, AreSavedAsPositions) {
  // One element waits in its bucket from the start to the end, and the others pass.
  std::vector<size_t> lengths(5000, 1);
  lengths[3] = 50;
  const auto dataset =
      sequences(lengths).bucket_by_sequence_length(kSize, LengthBuckets{{10}, {4, 2}});
  auto iterator = dataset.with_options({.threads = 1}).iterate();
  for (int i = 0; i < 1000; ++i) ASSERT_NE(iterator.next(), nullptr);
  const std::string state = iterator.state();
  EXPECT_LT(state.size(), 1000u);
  auto restored = dataset.iterate();
  restored.restore(state);
  const auto rest = rest_of(restored);
  EXPECT_EQ(rest, rest_of(iterator));
  EXPECT_THAT(rest.back(), ElementsAre(ElementsAre(
                               300, 301, 302, 303, 304, 305, 306, 307, 308, 309, 310, 311, 312, 313,
                               314, 315, 316, 317, 318, 319, 320, 321, 322, 323, 324, 325, 326, 327,
                               328, 329, 330, 331, 332, 333, 334, 335, 336, 337, 338, 339, 340, 341,
                               342, 343, 344, 345, 346, 347, 348, 349)));
}

TEST(Buckets, RefuseDamagedStates) {
  const auto source = sequences(many_lengths(100));
  const auto dataset = source.bucket_by_sequence_length(kSize, LengthBuckets{{5}, {10, 20}});
  const auto other = source.bucket_by_sequence_length(kSize, LengthBuckets{{6}, {10, 20}});
  auto iterator = dataset.iterate();
  iterator.next();
  auto restored = other.iterate();
  EXPECT_EQ(error_of([&] { restored.restore(iterator.state()); }).kind(),
            ErrorKind::invalid_argument);
}

TEST(Buckets, OfAFailedElementAreNotAffected) {
  const auto checked = sequences({1, 2, 3, 4, 5}).map([](Tokens tokens) {
    if (tokens.size() == 3) {
      throw Error({.kind = ErrorKind::corrupted, .reason = "damaged"});
    }
    return tokens;
  });
  const auto batches = checked.bucket_by_sequence_length(kSize, LengthBuckets{{10}, {2, 1}});
  auto iterator = batches.iterate();
  EXPECT_THAT(*iterator.next(), testing::SizeIs(2));
  EXPECT_EQ(error_of([&] { iterator.next(); }).reason(), "damaged");
  EXPECT_EQ(collect(batches.ignore_errors()),
            collect(checked.ignore_errors().bucket_by_sequence_length(
                kSize, LengthBuckets{{10}, {2, 1}})));
}

TEST(Buckets, TakeMemoryFromTheAccount) {
  std::vector<std::string> large(2000, std::string(10'000, 'x'));
  const auto dataset =
      from_vector(std::move(large))
          .map([](std::string text) { return text; })
          .bucket_by_sequence_length([](const std::string& text) { return text.size(); },
                                     LengthBuckets{{100}, {1, 1500}})
          .with_options({.threads = 2, .memory_limit = 2'000'000});
  EXPECT_THROW(collect(dataset), MemoryLimitExceeded);
}

TEST(Buckets, RequireBoundariesAndSizes) {
  const auto source = sequences({1});
  const auto refusal = [&](const LengthBuckets& buckets) {
    return error_of([&] { (void)source.bucket_by_sequence_length(kSize, buckets); }).reason();
  };
  EXPECT_THAT(refusal({{}, {1}}), HasSubstr("at least one boundary"));
  EXPECT_THAT(refusal({{3, 3}, {1, 1, 1}}), HasSubstr("must ascend"));
  EXPECT_THAT(refusal({{0, 3}, {1, 1, 1}}), HasSubstr("at least 1"));
  EXPECT_THAT(refusal({{3}, {1}}), HasSubstr("one batch size more"));
  EXPECT_THAT(refusal({{3}, {1, 0}}), HasSubstr("at least 1"));
  const auto negative = source.bucket_by_sequence_length([](const Tokens&) { return -1; },
                                                         LengthBuckets{{3}, {1, 1}});
  EXPECT_THAT(error_of([&] { collect(negative); }).reason(), HasSubstr("negative length"));
}

TEST(Buckets, AreExplained) {
  EXPECT_THAT(
      sequences({1}).bucket_by_sequence_length(LengthBuckets{{3, 9}, {8, 4, 1}}, 7).explain(),
      HasSubstr("bucket_by_sequence_length(boundaries=3,9, batch_sizes=8,4,1, "
                "drop_remainder=false, padding=7, length=longest)"));
}

TEST(Packing, FillsTheFirstRowWithRoom) {
  const auto rows = collect(sequences({3, 4, 2, 1, 5}).pack_sequences(5, {.open_rows = 2}, -1));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_THAT(rows[0].values, ElementsAre(0, 1, 2, 200, 201));
  EXPECT_THAT(rows[0].segment_ids, ElementsAre(1, 1, 1, 2, 2));
  EXPECT_THAT(rows[0].positions, ElementsAre(0, 1, 2, 0, 1));
  EXPECT_THAT(rows[1].values, ElementsAre(100, 101, 102, 103, 300));
  EXPECT_THAT(rows[2].values, ElementsAre(400, 401, 402, 403, 404));
}

TEST(Packing, YieldsTheOldestRowIfTooManyAreOpen) {
  const auto rows = collect(sequences({3, 4, 4}).pack_sequences(5, {.open_rows = 1}, -1));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_THAT(rows[0].values, ElementsAre(0, 1, 2, -1, -1));
  EXPECT_THAT(rows[0].segment_ids, ElementsAre(1, 1, 1, 0, 0));
  EXPECT_THAT(rows[0].positions, ElementsAre(0, 1, 2, 0, 0));
}

TEST(Packing, CutsWhatIsTooLongOrFails) {
  const auto source = sequences({2, 9, 2});
  const auto cut = collect(source.pack_sequences(4, {.too_long = TooLong::truncate}));
  ASSERT_EQ(cut.size(), 2u);
  EXPECT_THAT(cut[0].values, ElementsAre(100, 101, 102, 103));
  EXPECT_THAT(cut[1].values, ElementsAre(0, 1, 200, 201));
  EXPECT_THAT(error_of([&] { collect(source.pack_sequences(4)); }).reason(),
              HasSubstr("pack_sequences: a sequence of 9 values, where at most 4 fit"));
  EXPECT_THAT(collect(source.pack_sequences(4).ignore_errors()), testing::SizeIs(1));
}

TEST(Packing, KeepsEmptySequencesAsSegments) {
  const auto rows = collect(sequences({0, 1, 0, 2}).pack_sequences(4));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_THAT(rows[0].segment_ids, ElementsAre(2, 4, 4, 0));
}

// A translation: both features are packed to rows of their own lengths.
struct Pair {
  std::vector<int> source;
  std::vector<float> target;
};
struct PackedPair {
  PackedRow<int> source;
  PackedRow<float> target;
};
struct PairCollator {
  using Batch = PackedPair;
  PackCollator<int> source;
  PackCollator<float> target;
  void reset(Batch& row, size_t sequences) const {
    source.reset(row.source, sequences);
    target.reset(row.target, sequences);
  }
  void set(Batch& row, size_t sequence, Pair&& pair) const {
    source.set(row.source, sequence, std::move(pair.source));
    target.set(row.target, sequence, std::move(pair.target));
  }
  void finish(Batch& row) const {
    source.finish(row.source);
    target.finish(row.target);
  }
};

TEST(Packing, KeepsTheFeaturesOfAnElementTogether) {
  const auto pairs =
      from_vector(std::vector<Pair>{{{1, 2, 3}, {.5F}}, {{4}, {.25F, .75F}}, {{5}, {}}});
  const auto sizes = [](const Pair& pair) {
    return std::array{pair.source.size(), pair.target.size()};
  };
  const auto rows = collect(pairs.pack_sequences(sizes, {5, 2}, PairCollator{{5}, {2}}));
  ASSERT_EQ(rows.size(), 2u);
  // The first two don't fit together: the targets have three values. The second row is full first.
  EXPECT_THAT(rows[0].source.values, ElementsAre(4, 0, 0, 0, 0));
  EXPECT_THAT(rows[0].target.values, ElementsAre(.25F, .75F));
  EXPECT_THAT(rows[1].source.values, ElementsAre(1, 2, 3, 5, 0));
  EXPECT_THAT(rows[1].source.segment_ids, ElementsAre(1, 1, 1, 2, 0));
  EXPECT_THAT(rows[1].target.segment_ids, ElementsAre(1, 0));
  const auto wrong = pairs.pack_sequences([](const Pair&) { return std::vector<size_t>{1}; },
                                          {5, 2}, PairCollator{{5}, {2}});
  EXPECT_THAT(error_of([&] { collect(wrong); }).reason(), HasSubstr("1 features instead of 2"));
}

TEST(Packing, GoesOnAnywhere) {
  const auto source = sequences(many_lengths(300)).shuffle(30, 3);
  for (const size_t open_rows : {size_t{1}, size_t{4}, size_t{100}}) {
    const auto packed = source.pack_sequences(40, {.open_rows = open_rows});
    expect_resumes_anywhere(packed, on_any_machine(packed));
    const auto batches = packed.batch(3);
    expect_resumes_anywhere(batches, on_any_machine(batches));
  }
}

TEST(Packing, RequiresLengthsAndOpenRows) {
  EXPECT_THAT(error_of([] { (void)sequences({1}).pack_sequences(0); }).reason(),
              HasSubstr("lengths must be at least 1"));
  EXPECT_THAT(error_of([] { (void)sequences({1}).pack_sequences(5, {.open_rows = 0}); }).reason(),
              HasSubstr("open_rows must be at least 1"));
}

std::vector<int64_t> chosen(const std::vector<int64_t>& choices, StopOnEmptyDataset stop) {
  const std::vector<Dataset<int64_t>> inputs{range(0, 3), range(10, 11), range(20, 30)};
  return collect(choose_from_datasets(inputs, from_vector(choices), stop));
}

TEST(Choosing, FollowsTheChoices) {
  const auto yes = StopOnEmptyDataset::yes, no = StopOnEmptyDataset::no;
  EXPECT_THAT(chosen({0, 2, 2, 1, 0}, yes), ElementsAre(0, 20, 21, 10, 1));
  EXPECT_THAT(chosen({0, 1, 1, 2}, yes), ElementsAre(0, 10));
  EXPECT_THAT(chosen({0, 1, 1, 2}, no), ElementsAre(0, 10, 20));
  EXPECT_THAT(chosen({}, yes), ElementsAre());
}

TEST(Choosing, EndsWhenAllInputsHaveEnded) {
  const std::vector<Dataset<int64_t>> inputs{range(0, 3), range(10, 12)};
  const auto endless = range(0, 2).repeat();
  EXPECT_THAT(collect(choose_from_datasets(inputs, endless, StopOnEmptyDataset::no)),
              ElementsAre(0, 10, 1, 11, 2));
}

TEST(Choosing, OutOfRangeFailsInPlace) {
  const std::vector<Dataset<int64_t>> inputs{range(0, 3)};
  const auto dataset = choose_from_datasets(inputs, from_vector(std::vector<int64_t>{0, 1, -1, 0}));
  auto iterator = dataset.iterate();
  EXPECT_EQ(*iterator.next(), 0);
  EXPECT_THAT(error_of([&] { iterator.next(); }).reason(), HasSubstr("index 1 of 1 datasets"));
  EXPECT_THAT(collect(dataset.ignore_errors()), ElementsAre(0, 1));
  EXPECT_EQ(error_of([] {
              (void)internal::choose({}, internal::DatasetNode::of(range(0, 1)), true);
            }).kind(),
            ErrorKind::invalid_argument);
}

TEST(Choosing, GoesOnAnywhere) {
  const std::vector<Dataset<int64_t>> inputs{range(0, 90).shuffle(9, 1), range(100, 150)};
  const auto choices = range(0, 2).repeat().shuffle(5, 2);
  for (const auto stop : {StopOnEmptyDataset::no, StopOnEmptyDataset::yes}) {
    const auto dataset = choose_from_datasets(inputs, choices, stop);
    expect_resumes_anywhere(dataset, on_any_machine(dataset));
  }
}

}  // namespace
}  // namespace recordpipe
