// Tests that any number of workers yields the same global batches and can resume states that any
// other number of workers saved.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/pipeline/from_generator.h"
#include "recordpipe/pipeline/from_vector.h"
#include "recordpipe/pipeline/range.h"
#include "recordpipe/pipeline/zip.h"
#include "tests/pipeline/collect.h"
#include "tests/pipeline/resume.h"
#include "tests/support/expect_error.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Batch = std::vector<uint64_t>;
using Worker = Iterator<Batch>;

TEST(Shard, TakesTheElementsAtItsIndexAsTfDataDoes) {
  EXPECT_THAT(collect(range(10).shard(3, 0)), ElementsAre(0, 3, 6, 9));
  EXPECT_THAT(collect(range(10).shard(3, 1)), ElementsAre(1, 4, 7));
  EXPECT_THAT(collect(range(10).shard(3, 0, DropRemainder::yes)), ElementsAre(0, 3, 6));
  EXPECT_THAT(collect(range(2).shard(3, 2)), ElementsAre());
  EXPECT_EQ(error_of([] { range(2).shard(0, 0); }).kind(), ErrorKind::invalid_argument);
  EXPECT_EQ(error_of([] { range(2).shard(2, 2); }).kind(), ErrorKind::invalid_argument);
}

TEST(Shard, ShardsAreDisjointAndTogetherAll) {
  for (const size_t workers : {1, 2, 3, 4, 5, 8, 100}) {
    for (const int n : {0, 1, 7, 64, 501}) {
      std::vector<int> all;
      for (size_t index = 0; index < workers; ++index) {
        const auto shard = collect(from_vector(numbers(n))
                                       .shuffle(100, 1)
                                       .shard(workers, index)
                                       .prefetch(3)
                                       .with_options({.threads = 2, .chunk_size = index % 9 + 1}));
        const size_t least = static_cast<size_t>(n) / workers;
        EXPECT_TRUE(shard.size() == least || shard.size() == least + 1);
        all.insert(all.end(), shard.begin(), shard.end());
      }
      std::ranges::sort(all);
      EXPECT_EQ(all, numbers(n)) << workers << " workers";
    }
  }
}

TEST(Shard, ElementsBeforeAnErrorAreDelivered) {
  const auto failing = from_vector(numbers(10)).map([](int x) {
    if (x == 6) throw Error({.kind = ErrorKind::corrupted, .reason = "six"});
    return x;
  });
  for (const size_t index : {0, 1}) {
    auto iterator = failing.shard(2, index).iterate();
    for (size_t i = 0; i < 3 + 2 * index; ++i) {
      const int* element = iterator.next();
      ASSERT_NE(element, nullptr);
      EXPECT_EQ(*element, static_cast<int>(2 * i + index));
    }
    if (index == 0) {
      EXPECT_EQ(error_of([&] { iterator.next(); }).reason(), "six");
    } else {
      EXPECT_EQ(iterator.next(), nullptr);
    }
  }
}

constexpr size_t kGlobalBatch = 16;

Dataset<Batch> worker(size_t workers, size_t index, bool global, DropRemainder drop) {
  const auto draw = [](int x, Random& random) {
    return static_cast<uint64_t>(x) << 32 | random.below(1u << 31);
  };
  const auto source = from_vector(numbers(151));
  return (global ? source.global_shuffle(3) : source.shuffle(40, 3))
      .repeat(4)
      .shard(workers, index, drop)
      .map_with_random(5, draw)
      .batch(kGlobalBatch / workers, drop)
      .prefetch(index % 3 + 1)
      .with_options({.threads = index % 3 + 1, .chunk_size = workers + 3});
}

std::vector<Worker> workers_of(size_t workers, bool global,
                               DropRemainder drop = DropRemainder::yes) {
  std::vector<Worker> out;
  for (size_t i = 0; i < workers; ++i) out.push_back(worker(workers, i, global, drop).iterate());
  return out;
}

// Takes one row of each worker in turn. Empty at the end, which all workers must reach together.
std::optional<Batch> next_global(std::vector<Worker>& workers) {
  std::vector<const Batch*> batches;
  for (Worker& each : workers) batches.push_back(each.next());
  if (std::ranges::count(batches, nullptr) > 0) {
    EXPECT_EQ(std::ranges::count(batches, nullptr), static_cast<std::ptrdiff_t>(batches.size()));
    return std::nullopt;
  }
  Batch global;
  for (size_t row = 0; row < batches[0]->size(); ++row) {
    for (const Batch* batch : batches) {
      if (row < batch->size()) global.push_back((*batch)[row]);
    }
  }
  return global;
}

std::vector<Batch> global_batches(std::vector<Worker> workers) {
  std::vector<Batch> out;
  while (const auto batch = next_global(workers)) out.push_back(*batch);
  return out;
}

TEST(Shard, TheGlobalBatchIsTheSameForAnyNumberOfWorkers) {
  for (const bool global : {false, true}) {
    const auto expected = global_batches(workers_of(1, global));
    EXPECT_EQ(expected.size(), 4 * 151 / kGlobalBatch);
    for (const size_t workers : {2, 4, 8}) {
      EXPECT_TRUE(global_batches(workers_of(workers, global)) == expected) << workers;
    }
    // The last batch is incomplete, but no element is missing.
    const auto all = global_batches(workers_of(1, global, DropRemainder::no));
    EXPECT_EQ(all.size(), expected.size() + 1);
    EXPECT_TRUE(global_batches(workers_of(4, global, DropRemainder::no)) == all);
  }
}

TEST(Shard, ARunSavedWithSomeWorkersResumesWithOthers) {
  for (const bool global : {false, true}) {
    const auto expected = global_batches(workers_of(1, global));
    for (const size_t from : {1, 2, 4, 8}) {
      for (const size_t to : {1, 2, 4, 8}) {
        std::vector<Worker> saving = workers_of(from, global);
        for (size_t batch = 0; batch <= expected.size(); ++batch) {
          if (batch % 5 == from % 5 || batch == expected.size()) {
            // A worker may resume from the state of any worker.
            std::vector<Worker> resumed = workers_of(to, global);
            for (size_t i = 0; i < to; ++i) {
              resumed[i].restore(saving[(i * 3 + batch) % from].state());
            }
            const std::vector<Batch> rest(expected.begin() + static_cast<std::ptrdiff_t>(batch),
                                          expected.end());
            ASSERT_TRUE(global_batches(std::move(resumed)) == rest)
                << from << " to " << to << " workers after batch " << batch;
          }
          if (batch < expected.size()) {
            ASSERT_TRUE(next_global(saving));
          }
        }
      }
    }
  }
}

TEST(Shard, OneWorkerIsAShardToo) {
  const auto source = from_vector(numbers(100)).shuffle(10, 1);
  auto saving = source.shard(4, 2).batch(4).iterate();
  saving.next();
  auto alone = source.shard(1, 0).batch(16).iterate();
  alone.restore(saving.state());
  EXPECT_EQ(alone.next()->at(4 * 1 + 2), saving.next()->at(1));
  auto undivided = source.batch(16).iterate();
  EXPECT_THAT(error_of([&] { undivided.restore(saving.state()); }).reason(),
              HasSubstr("saved with shard("));
}

TEST(Shard, IsPartOfThePlanWhereItsPlacesAreItsOwn) {
  const auto refusal = [](const auto& from, const auto& to) {
    auto iterator = to.iterate();
    return error_of([&] { iterator.restore(from.iterate().state()); }).reason();
  };
  const auto source = from_vector(numbers(100));
  EXPECT_THAT(refusal(source.shard(4, 0).batch(4), source.shard(2, 0).batch(4)),
              HasSubstr("batch_size=8"));
  EXPECT_THAT(
      refusal(source.shard(4, 0, DropRemainder::yes), source.shard(2, 0, DropRemainder::yes)),
      HasSubstr("num_shards=2"));
  EXPECT_THAT(
      refusal(source.shard(4, 0).shuffle(9, 1).batch(4), source.shard(4, 1).shuffle(9, 1).batch(4)),
      HasSubstr("index=1"));
  EXPECT_THAT(
      refusal(source.shard(4, 0).prefetch(2).batch(4), source.shard(2, 0).prefetch(2).batch(8)),
      HasSubstr("num_shards=2"));
  // Of 3 workers, the first has 12 batches, the others 11: shuffles order them differently.
  EXPECT_THAT(
      refusal(source.shard(3, 0).batch(3).shuffle(9, 1), source.shard(3, 1).batch(3).shuffle(9, 1)),
      HasSubstr("index=1"));
  EXPECT_THAT(refusal(source.shard(3, 0).batch(3).global_shuffle(1),
                      source.shard(3, 1).batch(3).global_shuffle(1)),
              HasSubstr("index=1"));
  const auto equal_shard = [&](size_t workers, size_t index) {
    return source.shard(workers, index, DropRemainder::yes)
        .batch(8 / workers, DropRemainder::yes)
        .global_shuffle(1)
        .iterate();
  };
  equal_shard(4, 0).restore(equal_shard(2, 1).state());
  EXPECT_EQ(source.shard(4, 1).batch(8).explain(),
            "from_vector(elements=100)\n"
            "shard(num_shards=4, index=1, drop_remainder=false)\n"
            "batch(batch_size=32, drop_remainder=false, of_this_shard=8)\n");
}

// What is left of `dataset` from `state` on.
template <class T>
std::vector<T> rest(const Dataset<T>& dataset, const std::string& state) {
  auto iterator = dataset.iterate();
  iterator.restore(state);
  std::vector<T> all;
  while (const T* element = iterator.next()) all.push_back(*element);
  return all;
}

TEST(Shard, ThatComesLastIsNotPartOfThePlan) {
  const auto batches =
      from_vector(numbers(103)).shuffle(20, 1).repeat(2).shard(2, 1).batch(4).prefetch(3);
  auto whole = batches.epoch(3).iterate();
  std::vector<std::vector<int>> expected;
  while (const auto* batch = whole.next()) expected.push_back(*batch);
  for (const size_t saved : {1, 2, 3, 4}) {
    for (size_t worker = 0; worker < saved; ++worker) {
      auto saving = batches.shard(saved, worker).prefetch(2).epoch(3).iterate();
      for (size_t given = 0;; ++given) {
        const std::string state = saving.state();
        const size_t place = std::min(given * saved, expected.size());
        EXPECT_EQ(position_of_state(state), given * saved);
        EXPECT_EQ(
            rest(batches, state),
            std::vector(expected.begin() + static_cast<std::ptrdiff_t>(place), expected.end()));
        for (const size_t restored : {1, 2, 3}) {
          for (size_t i = 0; i < restored; ++i) {
            std::vector<std::vector<int>> own;
            for (size_t at = place + i; at < expected.size(); at += restored) {
              own.push_back(expected[at]);
            }
            EXPECT_EQ(rest(batches.shard(restored, i), state), own);
          }
        }
        if (place < expected.size()) {
          EXPECT_EQ(rest(batches, moved_state(state, 1)),
                    std::vector(expected.begin() + static_cast<std::ptrdiff_t>(place) + 1,
                                expected.end()));
        }
        if (saving.next() == nullptr) break;
      }
      EXPECT_EQ(rest(batches, next_epoch_state(saving.state())),
                rest(batches, batches.epoch(4).iterate().state()));
    }
  }
}

TEST(Shard, ThatComesLastCountsItsOwnElements) {
  const auto source = from_vector(numbers(10));
  auto saving = source.shard(4, 1).iterate();
  saving.next();
  saving.next();
  EXPECT_EQ(saving.position(), 2u);
  auto other = source.shard(2, 0).iterate();
  other.restore(saving.state());
  EXPECT_EQ(other.position(), 4u);
  EXPECT_EQ(*other.next(), 8);
  auto nested = source.shard(2, 1).shard(2, 0).iterate();  // elements 1, 5 and 9
  nested.restore(saving.state());
  EXPECT_EQ(nested.position(), 2u);
  EXPECT_EQ(*nested.next(), 9);
  EXPECT_EQ(error_of([&] { other.restore(moved_state(saving.state(), 6)); }).kind(),
            ErrorKind::invalid_argument);
  EXPECT_EQ(error_of([] { (void)moved_state("no state", 1); }).kind(), ErrorKind::invalid_argument);
}

TEST(Shard, GoesOnInAGroupThatAnErrorHasCutShort) {
  const auto source = from_generator([] {
    return [next = 0]() mutable -> std::optional<int> {
      if (next == 5) throw std::runtime_error("the source failed");
      return next++;
    };
  });
  const auto shard = source.shard(2, 0);
  auto saving = shard.iterate();
  for (const int expected : {0, 2, 4}) ASSERT_EQ(*saving.next(), expected);
  auto restored = shard.iterate();
  restored.restore(saving.state());
  auto again = shard.iterate();
  again.restore(restored.state());
  EXPECT_THROW(restored.next(), std::runtime_error);
  EXPECT_THROW(again.next(), std::runtime_error);
}

TEST(Shard, GoesOnAnywhere) {
  const auto shard = from_vector(numbers(103)).shuffle(20, 1).repeat(2).shard(4, 3);
  expect_resumes_anywhere(shard, on_any_machine(shard));
  const auto prefetched = from_vector(numbers(103)).prefetch(7).shard(5, 1).batch(3);
  expect_resumes_anywhere(prefetched, on_any_machine(prefetched));
  // Long enough that the plan of the prefetch thread is saved on the way.
  const auto on_the_way = from_vector(numbers(1000)).prefetch(2).shard(3, 0);
  expect_resumes_anywhere(on_the_way.with_options({.chunk_size = 3}), on_any_machine(on_the_way));
  expect_resumes_anywhere(on_the_way.batch(4).with_options({.chunk_size = 3}),
                          on_any_machine(on_the_way.batch(4)));
}

// Inputs of ten numbers, of which the one that begins at `bad` ends with an error after three.
Dataset<int64_t> interleaved(int64_t bad, size_t cycle_length) {
  const auto open = [bad](int64_t first) {
    return from_generator([=] {
      return [first, bad, next = int64_t{0}]() mutable -> std::optional<int64_t> {
        if (first == bad && next == 3) {
          throw Error({.kind = ErrorKind::corrupted, .reason = "cut off"});
        }
        return next < 10 ? std::optional(first + next++) : std::nullopt;
      };
    });
  };
  return range(0, 50, 10).interleave(open, cycle_length, 2);
}

// Elements before the error, if there is one.
template <class T>
std::pair<size_t, std::string> run(const Dataset<T>& dataset) {
  size_t count = 0;
  auto iterator = dataset.iterate();
  try {
    while (iterator.next()) ++count;
  } catch (const Error& error) {
    return {count, error.reason()};
  }
  return {count, ""};
}

TEST(Shard, AnInputThatEndsWithAnErrorIsAnErrorOfEveryWorker) {
  for (const size_t cycle_length : {1, 2, 5}) {
    for (const size_t chunk_size : {1, 3, 64}) {
      const auto all = interleaved(10, cycle_length).with_options({.chunk_size = chunk_size});
      const auto fails = [&](const auto& dataset) { return run(dataset).second == "cut off"; };
      for (const size_t workers : {1, 2, 3, 9, 60}) {
        for (size_t index = 0; index < workers; index += workers < 60 ? 1 : 17) {
          EXPECT_TRUE(fails(all.shard(workers, index)));
          EXPECT_TRUE(fails(all.shard(workers, index, DropRemainder::yes)));
          EXPECT_TRUE(fails(all.shard(workers, index).prefetch(2)));
          EXPECT_TRUE(fails(all.batch(2).shard(workers, index)));
          EXPECT_TRUE(fails(zip(all, range(100)).shard(workers, index)));
          EXPECT_TRUE(fails(all.filter([](int64_t x) { return x >= 0; }).shard(workers, index)));
          EXPECT_TRUE(
              fails(all.flat_map([](int64_t x) { return std::vector{x}; }).shard(workers, index)));
          EXPECT_TRUE(fails(all.skip(2).shard(workers, index)));
        }
        EXPECT_TRUE(fails(all.batch(workers, DropRemainder::yes)));
      }
      for (const size_t skipped : {0, 1, 3, 9, 10, 13, 40, 59})
        EXPECT_TRUE(fails(all.skip(skipped)));
    }
  }
}

TEST(Shard, AnElementThatCantBeDividedIsAnErrorOfEveryWorker) {
  const auto ten = [](int64_t first) {
    if (first == 10) throw Error({.kind = ErrorKind::corrupted, .reason = "cut off"});
    std::vector<int64_t> numbers(10);
    std::iota(numbers.begin(), numbers.end(), first);
    return numbers;
  };
  for (const size_t chunk_size : {1, 3, 64}) {
    const auto inputs = range(0, 50, 10).with_options({.chunk_size = chunk_size});
    for (const auto& all : {inputs.flat_map(ten), inputs.map(ten).unbatch()}) {
      for (const size_t workers : {1, 2, 3, 9, 60}) {
        for (size_t index = 0; index < workers; index += workers < 60 ? 1 : 17) {
          EXPECT_EQ(run(all.shard(workers, index)).second, "cut off");
          EXPECT_EQ(run(all.batch(2).shard(workers, index)).second, "cut off");
        }
      }
      for (const size_t skipped : {0, 1, 3, 9, 10, 13, 30, 59}) {
        EXPECT_EQ(run(all.skip(skipped)).second, "cut off");
      }
      EXPECT_EQ(run(all.batch(60, DropRemainder::yes)).second, "cut off");
      auto ignoring = all.skip(20).shard(2, 1).ignore_errors().iterate();
      size_t count = 0;
      while (ignoring.next()) ++count;
      EXPECT_EQ(count, 10u);  // of the 41, 21 are left, and this is the other worker
      EXPECT_EQ(ignoring.skipped().count, 1u);
    }
  }
}

// Of an exception that ignore_errors doesn't skip, other workers must hear, too.
TEST(Shard, AnErrorThatIsNotIgnoredIsAnErrorOfEveryWorker) {
  const auto fails = [](int64_t first) -> std::vector<int64_t> {
    if (first == 10) throw std::runtime_error("of another kind");
    return {first, first + 1};
  };
  const auto all = range(0, 50, 10).flat_map(fails);
  for (size_t index = 0; index < 3; ++index) {
    EXPECT_THROW(collect(all.shard(3, index).ignore_errors()), std::runtime_error);
  }
  EXPECT_THROW(collect(all.skip(4).ignore_errors()), std::runtime_error);
}

TEST(Shard, WorkersThatIgnoreErrorsCountALostInputAndLoseNothingElse) {
  const auto all = interleaved(10, 3);
  for (const size_t workers : {1, 2, 3}) {
    std::vector<int64_t> elements;
    for (size_t index = 0; index < workers; ++index) {
      auto iterator = all.shard(workers, index).ignore_errors().iterate();
      while (const int64_t* const element = iterator.next()) elements.push_back(*element);
      EXPECT_EQ(iterator.skipped().count, 1u);
    }
    EXPECT_EQ(elements.size(), 43u);
    EXPECT_EQ(std::set<int64_t>(elements.begin(), elements.end()).size(), 43u);
  }
  auto skipping = all.skip(30).ignore_errors().iterate();
  while (skipping.next()) continue;
  EXPECT_EQ(skipping.skipped().count, 1u);
}

}  // namespace
}  // namespace recordpipe
