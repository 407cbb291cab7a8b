// Tests batches of Dicts: each form of stacking, what is refused, and the reuse of memory.
#include "recordpipe/example/dict_batch.h"

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/pipeline/range.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"

namespace recordpipe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Row i: i % 3 numbers, strings, and rows of numbers; an image of its own size.
Dict row(int64_t i) {
  const auto count = static_cast<size_t>(i % 3);
  std::vector<float> numbers(count * 2, static_cast<float>(i));
  BytesArray words{{count}};
  RaggedArray nested;
  nested.splits.resize(1);
  nested.splits[0] = {0};
  std::vector<int32_t> items;
  for (size_t k = 0; k < count; ++k) {
    words.append(as_bytes(std::string(k, 'w')));
    items.insert(items.end(), k, static_cast<int32_t>(i));
    nested.splits[0].push_back(static_cast<int64_t>(items.size()));
  }
  nested.values = make_array<int32_t>({items.size()}, items);
  const std::vector<uint8_t> pixels((count + 1) * 4, static_cast<uint8_t>(i));

  Dict inner;
  inner.set("words", DictValue(std::move(words), Stacking::ragged));
  inner.set("nested", std::move(nested));
  Dict dict;
  dict.set("id", make_scalar(i));
  dict.set("name", make_bytes("row " + std::to_string(i)));
  dict.set("numbers", DictValue(make_array<float>({count, 2}, numbers), Stacking::ragged));
  dict.set("inner", std::move(inner));
  dict.set("image", DictValue(make_array<uint8_t>({count + 1, 4}, pixels), Stacking::list));
  DictValue& maybe = dict.set("maybe", make_scalar<int16_t>(i % 2 ? 5 : -1));
  maybe.is_optional = true;
  maybe.is_missing = i % 2 == 0;
  return dict;
}

DictBatch batch_of(std::vector<Dict> rows, DictBatch batch = {}) {
  const DictCollator collator;
  collator.reset(batch, rows.size());
  for (size_t i = 0; i < rows.size(); ++i) collator.set(batch, i, std::move(rows[i]));
  collator.finish(batch);
  return batch;
}

void expect_rows(const Dict& columns, const std::vector<int64_t>& ids) {
  const size_t n = ids.size();
  const Array& id = columns.at("id").array();
  EXPECT_EQ(id.shape, std::vector<size_t>{n});
  EXPECT_EQ(std::vector<int64_t>(id.values<int64_t>().begin(), id.values<int64_t>().end()), ids);
  const RaggedArray& numbers = columns.at("numbers").ragged();
  const RaggedArray& nested = columns.at("inner/nested").ragged();
  const RaggedArray& words = columns.at("inner/words").ragged();
  ASSERT_EQ(numbers.size(), n);
  ASSERT_EQ(nested.splits.size(), 2u);
  EXPECT_EQ(std::get<Array>(numbers.values).shape[1], 2u);
  int64_t items = 0;
  for (size_t i = 0; i < n; ++i) {
    const int64_t count = ids[i] % 3;
    EXPECT_EQ(columns.at("name").bytes().text(i), "row " + std::to_string(ids[i]));
    EXPECT_EQ(numbers.splits[0][i + 1] - numbers.splits[0][i], count);
    EXPECT_EQ(nested.splits[0][i + 1] - nested.splits[0][i], count);
    EXPECT_EQ(words.splits[0][i + 1] - words.splits[0][i], count);
    for (int64_t k = 0; k < count; ++k) {
      const auto at = static_cast<size_t>(nested.splits[0][i] + k);
      EXPECT_EQ(nested.splits[1][at + 1] - nested.splits[1][at], k);
      EXPECT_EQ(std::get<BytesArray>(words.values).text(at),
                std::string(static_cast<size_t>(k), 'w'));
      items += k;
    }
    const Array& image = columns.at("image").list()[i].array();
    EXPECT_EQ(image.shape, (std::vector<size_t>{static_cast<size_t>(count) + 1, 4}));
    EXPECT_EQ(image.values<uint8_t>()[0], static_cast<uint8_t>(ids[i]));
    EXPECT_EQ(columns.at("maybe").array().values<int16_t>()[i], ids[i] % 2 ? 5 : -1);
    EXPECT_EQ(columns.at("maybe_mask").array().values<bool>()[i], ids[i] % 2 == 1);
  }
  EXPECT_EQ(std::get<Array>(nested.values).size(), static_cast<size_t>(items));
}

TEST(DictCollator, StacksEachForm) {
  const DictBatch batch = batch_of({row(4), row(5), row(3)});
  expect_rows(batch.columns, {4, 5, 3});
  std::vector<std::string> names;
  for (const DictEntry& entry : batch.columns.entries()) names.push_back(entry.name);
  EXPECT_THAT(names, ElementsAre("id", "name", "numbers", "inner", "image", "maybe", "maybe_mask"));
}

TEST(DictCollator, BatchesOfAPipelineAreThoseOfOneThread) {
  for (const size_t threads : {1, 4}) {
    const auto batches = range(0, 50)
                             .map(row)
                             .shuffle(13, 3)
                             .batch(7, DropRemainder::no, DictCollator())
                             .with_options({.threads = threads, .chunk_size = 3});
    std::vector<Dict> columns;
    for (const DictBatch& batch : batches) columns.push_back(batch.columns);
    std::vector<int64_t> order;
    for (const int64_t i : range(0, 50).shuffle(13, 3)) order.push_back(i);
    ASSERT_EQ(columns.size(), 8u);
    for (size_t at = 0; const Dict& batch : columns) {
      const size_t n = std::min<size_t>(7, order.size() - at);
      expect_rows(batch, {order.begin() + static_cast<ptrdiff_t>(at),
                          order.begin() + static_cast<ptrdiff_t>(at + n)});
      at += n;
    }
  }
}

TEST(DictCollator, UsesTheMemoryAgain) {
  const std::vector<double> values(1000, 0.5);
  const auto rows = [&] {
    Dict dict;
    dict.set("x", make_array<double>({1000}, values));
    return std::vector<Dict>(8, dict);
  };
  DictBatch batch = batch_of(rows());
  const std::byte* const memory = batch.columns.at("x").array().bytes.data();
  batch = batch_of(rows(), std::move(batch));
  EXPECT_EQ(batch.columns.at("x").array().bytes.data(), memory);
}

TEST(DictCollator, ABatchOfOtherNamesReplacesTheOldOnes) {
  DictBatch batch = batch_of({row(1), row(2)});
  Dict other;
  other.set("name", make_scalar(1.5f));
  batch = batch_of({other}, std::move(batch));
  EXPECT_EQ(batch.columns.size(), 1u);
  EXPECT_THAT(batch.columns.at("name").array().shape, ElementsAre(1));
}

TEST(DictCollator, RefusesRowsThatDiffer) {
  const auto reason = [](DictValue a, DictValue b) {
    Dict first, second, outer_a, outer_b;
    first.set("x", std::move(a));
    second.set("x", std::move(b));
    outer_a.set("group", first);
    outer_b.set("group", second);
    const Error error = error_of([&] { batch_of({outer_a, outer_b}); });
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    EXPECT_THAT(error.reason(), HasSubstr("\"group/x\""));
    return error.reason();
  };
  const float numbers[] = {1, 2, 3, 4, 5, 6};
  const auto array = [&](std::vector<size_t> shape) {
    const size_t size = std::accumulate(shape.begin(), shape.end(), size_t{1}, std::multiplies());
    return make_array<float>(shape, std::span(numbers).first(size));
  };
  EXPECT_THAT(reason(array({2}), array({3})), HasSubstr("[2] and [3]"));
  EXPECT_THAT(reason(array({}), array({1})), HasSubstr("[] and [1]"));
  EXPECT_THAT(reason(make_scalar(1.0f), make_scalar(int32_t{1})), HasSubstr("float32 and int32"));
  EXPECT_THAT(reason(make_scalar(1.0f), make_bytes("a")), HasSubstr("different kinds"));
  EXPECT_THAT(reason(make_scalar(1.0f), {}), HasSubstr("different kinds"));
  EXPECT_THAT(reason({}, {}), HasSubstr("no value"));
  EXPECT_THAT(reason(DictValue(array({1, 2}), Stacking::ragged),
                     DictValue(array({1, 3}), Stacking::ragged)),
              HasSubstr("[1, 2] and [1, 3]"));
  EXPECT_THAT(reason(DictValue(array({2}), Stacking::ragged), array({2})), HasSubstr("stacking"));
  Dict one;
  one.set("x", make_scalar(1.0f));
  Dict two;
  two.set("y", make_scalar(1.0f));
  EXPECT_THAT(error_of([&] { batch_of({one, two}); }).reason(), HasSubstr("the same names"));
}

}  // namespace
}  // namespace recordpipe
