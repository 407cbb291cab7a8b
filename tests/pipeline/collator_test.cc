// Tests custom collators, including one whose row positions depend on all rows.
#include <atomic>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/pipeline/from_vector.h"
#include "recordpipe/pipeline/range.h"
#include "recordpipe/pipeline/zip.h"
#include "tests/pipeline/collect.h"
#include "tests/pipeline/resume.h"

namespace recordpipe {
namespace {

// Rows of any length, with their values concatenated.
struct Ragged {
  std::vector<std::vector<int>> rows;
  std::vector<int> values;
  bool operator==(const Ragged&) const = default;
};

struct RaggedCollator {
  using Batch = Ragged;
  std::atomic<int>* finished;
  int bad = -1;

  void reset(Ragged& batch, size_t rows) const {
    batch.rows.assign(rows, {});
    batch.values.clear();
  }
  void set(Ragged& batch, size_t row, int length) const {
    if (length == bad) throw std::runtime_error("a bad row");
    batch.rows[row].assign(static_cast<size_t>(length), length);
  }
  void finish(Ragged& batch) const {
    for (const auto& row : batch.rows) {
      batch.values.insert(batch.values.end(), row.begin(), row.end());
    }
    ++*finished;
  }
};

TEST(Collator, IsFinishedOnceForEachBatchWhenAllRowsAreSet) {
  std::vector<Ragged> expected(7);
  for (int i = 0; i < 200; ++i) {
    Ragged& batch = expected[static_cast<size_t>(i / 32)];
    batch.rows.emplace_back(static_cast<size_t>(i), i);
    batch.values.insert(batch.values.end(), static_cast<size_t>(i), i);
  }
  for (const size_t threads : {1, 2, 4, 16}) {
    for (const size_t chunk_size : {1, 7, 64, 1000}) {
      std::atomic<int> finished = 0;
      const auto batches =
          from_vector(numbers(200)).batch(32, DropRemainder::no, RaggedCollator{&finished});
      EXPECT_TRUE(collect(batches.with_options({.threads = threads, .chunk_size = chunk_size})) ==
                  expected)
          << threads << " threads, chunks of " << chunk_size;
      EXPECT_EQ(finished, 7);
    }
  }
}

// Pairs each element with the one announced as next; -1 if none was announced.
struct ForesightedPairs {
  using Batch = std::vector<std::pair<int, int>>;
  void reset(Batch& batch, size_t rows) const { batch.resize(rows); }
  void set(Batch& batch, size_t row, int element) const { batch[row] = {element, -1}; }
  void set(Batch& batch, size_t row, int element, const int& next) const {
    batch[row] = {element, next};
  }
};

TEST(Collator, IsToldTheNextElementWithinAPart) {
  for (const size_t threads : {1, 3}) {
    const auto batches = collect(from_vector(numbers(40))
                                     .batch(32, DropRemainder::no, ForesightedPairs())
                                     .with_options({.threads = threads, .chunk_size = 8}));
    int expected = 0;
    for (const auto& batch : batches) {
      for (const auto& [element, next] : batch) {
        EXPECT_EQ(element, expected++);
        EXPECT_EQ(next, expected % 8 == 0 ? -1 : expected);
      }
    }
    EXPECT_EQ(expected, 40);
  }
}

TEST(Collator, IsNotFinishedWhereARowThrew) {
  for (const size_t threads : {1, 4}) {
    for (const size_t chunk_size : {1, 7, 64}) {
      std::atomic<int> finished = 0;
      const auto batches =
          from_vector(numbers(64)).batch(32, DropRemainder::no, RaggedCollator{&finished, 40});
      const auto dataset = batches.with_options({.threads = threads, .chunk_size = chunk_size});
      auto pass = dataset.iterate();
      ASSERT_NE(pass.next(), nullptr);
      EXPECT_THROW(pass.next(), std::runtime_error);
      EXPECT_EQ(finished, 1);
    }
  }
}

// Throws for full batches, so that only the remainder is left.
template <class T>
struct Remainder : VectorCollator<T> {
  void reset(std::vector<T>& batch, size_t rows) const {
    if (rows == 10) throw Error({.kind = ErrorKind::corrupted, .reason = "ten rows"});
    batch.resize(rows);
  }
};

// With all these operators, workers discard the rows' tickets while other rows are planned and
// computed.
TEST(Collator, RowsOfARefusedBatchAreGivenUp) {
  const auto any = [](int64_t) { return true; };
  const auto source = range(400).filter(any).concatenate(range(603)).enumerate();
  const auto rows = zip(source, range(1003).prefetch(8).batch(1)).take(1003);
  using Row = decltype(rows)::value_type;
  const std::vector<Row> last{{{1000, 600}, {1000}}, {{1001, 601}, {1001}}, {{1002, 602}, {1002}}};
  const auto batches = rows.batch(10, DropRemainder::no, Remainder<Row>()).ignore_errors();
  for (const auto& run : on_any_machine(batches)) {
    EXPECT_TRUE(collect(run) == std::vector<std::vector<Row>>{last});
    EXPECT_TRUE(collect(run.repeat(2)) == (std::vector<std::vector<Row>>{last, last}));
  }
}

}  // namespace
}  // namespace recordpipe
