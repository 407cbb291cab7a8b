// Tests bucket_by_sequence_length, pack_sequences and choose_from_datasets of Dicts.
#include "recordpipe/example/dict_sequences.h"

#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/pipeline/choose_from_datasets.h"
#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/pipeline/from_vector.h"
#include "tests/pipeline/collect.h"
#include "tests/pipeline/resume.h"
#include "tests/support/expect_error.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// "tokens": [size] of `first`, first + 1, ...; "text/length": its size.
Dict sentence(size_t size, int32_t first) {
  std::vector<int32_t> tokens(size);
  std::iota(tokens.begin(), tokens.end(), first);
  Dict text;
  text.set("length", make_scalar<int64_t>(static_cast<int64_t>(size)));
  Dict dict;
  dict.set("tokens", DictValue(make_array<int32_t>({size}, tokens), Stacking::ragged));
  dict.set("text", std::move(text));
  return dict;
}

Dataset<Dict> sentences(const std::vector<size_t>& sizes) {
  std::vector<Dict> dicts;
  for (size_t i = 0; i < sizes.size(); ++i) {
    dicts.push_back(sentence(sizes[i], static_cast<int32_t>(i) * 100));
  }
  return from_vector(std::move(dicts));
}

template <class T>
std::vector<T> values(const Dict& dict, const std::string& path) {
  const auto all = dict.at(path).array().values<T>();
  return {all.begin(), all.end()};
}

TEST(DictSequences, AreBucketedAndPadded) {
  const LengthBuckets buckets{{3, 6}, {2, 2, 1}};
  const auto source = sentences({2, 4, 1, 3});
  const auto batches = collect(source.bucket_by_sequence_length(DictLength{"tokens"}, buckets,
                                                                PaddedDictCollator{{"tokens"}}));
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_THAT(batches[0].columns.at("tokens").array().shape, ElementsAre(2, 2));
  EXPECT_THAT(values<int32_t>(batches[0].columns, "tokens"), ElementsAre(0, 1, 200, 0));
  EXPECT_THAT(values<int64_t>(batches[0].columns, "text/length"), ElementsAre(2, 1));
  EXPECT_THAT(batches[1].columns.at("tokens").array().shape, ElementsAre(2, 4));
  const auto wide = collect(source.bucket_by_sequence_length(
      DictLength{"tokens"}, buckets, PaddedDictCollator{{"tokens"}, buckets.boundaries}));
  EXPECT_THAT(wide[1].columns.at("tokens").array().shape, ElementsAre(2, 5));
  // Without padding, as batch() stacks them.
  const auto ragged =
      collect(source.bucket_by_sequence_length(DictLength{"tokens"}, buckets, DictCollator()));
  EXPECT_EQ(ragged[0].columns.at("tokens").ragged().size(), 2u);
}

TEST(DictSequences, ArePacked) {
  const auto rows = collect(sentences({2, 3, 4}).pack_sequences(
      DictSizes{{"tokens"}}, {6}, PackedDictCollator{{"tokens"}, {6}}));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_THAT(values<int32_t>(rows[0], "tokens"), ElementsAre(0, 1, 100, 101, 102, 0));
  EXPECT_THAT(values<int32_t>(rows[0], "tokens_segment_ids"), ElementsAre(1, 1, 2, 2, 2, 0));
  EXPECT_THAT(values<int32_t>(rows[0], "tokens_positions"), ElementsAre(0, 1, 0, 1, 2, 0));
  EXPECT_EQ(rows[0].size(), 3u);
  const auto cut = collect(sentences({9}).pack_sequences(DictSizes{{"tokens"}}, {4},
                                                         PackedDictCollator{{"tokens"}, {4}},
                                                         {.too_long = TooLong::truncate}));
  EXPECT_THAT(values<int32_t>(cut[0], "tokens"), ElementsAre(0, 1, 2, 3));
}

TEST(DictSequences, GoOnAnywhere) {
  std::vector<size_t> sizes;
  for (size_t i = 0; i < 100; ++i) sizes.push_back(i * i * 7 % 31);
  const auto packed = sentences(sizes).shuffle(20, 3).pack_sequences(
      DictSizes{{"tokens"}}, {40}, PackedDictCollator{{"tokens"}, {40}}, {.open_rows = 3});
  expect_resumes_anywhere(packed, on_any_machine(packed));
  const auto mixed = choose_from_datasets<Dict>({sentences({1, 2, 3}), sentences({4, 5})},
                                                from_vector(std::vector<int64_t>{0, 1, 0, 1, 0}));
  expect_resumes_anywhere(mixed, on_any_machine(mixed));
}

TEST(DictSequences, NameWhatIsNoSequence) {
  const auto source = sentences({1});
  const auto error = [&](const std::string& path) {
    return error_of([&] {
      collect(source.bucket_by_sequence_length(DictLength{path}, LengthBuckets{{3}, {1, 1}},
                                               DictCollator()));
    });
  };
  EXPECT_THAT(error("text/length").reason(), HasSubstr("\"text/length\" is no sequence"));
  EXPECT_EQ(error("token").kind(), ErrorKind::not_found);
}

}  // namespace
}  // namespace recordpipe
