// Tests that random chains of operators equal their naive twins, even if they are saved and resumed
// anywhere.
#include <algorithm>
#include <cstdint>
#include <exception>
#include <iterator>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/base/philox.h"
#include "recordpipe/pipeline/dataset.h"
#include "tests/pipeline/naive/pipeline.h"
#include "tests/pipeline/random_chain.h"
#include "tests/pipeline/trials.h"
#include "tests/pipeline/value.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

// The remaining elements of an iterator, and the error after them, if any.
struct Rest {
  std::vector<Value> values;
  std::string error;

  friend bool operator==(const Rest&, const Rest&) = default;
  friend void PrintTo(const Rest& rest, std::ostream* out) {
    *out << rest.values.size() << " elements, then \"" << rest.error << '"';
    for (const Value& value : rest.values) {
      *out << "\n  ";
      PrintTo(value, out);
    }
  }
};

Rest rest_of(const naive::Pipeline<Value>& twin, uint64_t epoch = 0) {
  Rest rest;
  naive::Elements<Value> elements = twin.pass(epoch);
  for (naive::Item<Value>& item : elements.items) {
    if (!item.error.empty()) {
      rest.error = std::move(item.error);
      return rest;
    }
    rest.values.push_back(std::move(item.value));
  }
  rest.error = std::move(elements.error);
  return rest;
}

// Returns the next element, which is appended to `rest`; null at the end or at an error, which is
// stored in `rest`.
const Value* next_of(Iterator<Value>& iterator, Rest& rest) {
  try {
    const Value* value = iterator.next();
    if (value) rest.values.push_back(*value);
    return value;
  } catch (const std::exception& error) {
    rest.error = error.what();
    EXPECT_THROW(iterator.next(), std::exception);
    return nullptr;
  }
}

Rest rest_of(Iterator<Value>& iterator) {
  Rest rest;
  while (next_of(iterator, rest)) {
  }
  return rest;
}

// Returns `all` without the first `count` elements.
Rest after(const Rest& all, size_t count) {
  return {{all.values.begin() + static_cast<std::ptrdiff_t>(count), all.values.end()}, all.error};
}

PipelineOptions draw_options(Random& random) {
  // Many threads are rare: those that wait for work take most of such a chain's time.
  constexpr size_t kThreads[] = {1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 4, 4, 8, 16};
  constexpr size_t kChunkSizes[] = {1, 3, 7, 64, 64, 1000};
  return {.threads = kThreads[random.below(16)], .chunk_size = kChunkSizes[random.below(6)]};
}

// Saves at several positions. Another iterator resumes from each and is saved once more.
void expect_resumes(const Dataset<Value>& dataset, const Rest& expected, Random& random) {
  Iterator<Value> saving = dataset.with_options(draw_options(random)).iterate();
  const auto size = static_cast<uint32_t>(expected.values.size());
  std::vector<uint32_t> places{random.below(size + 1), random.below(size + 1)};
  if (random.below(4) == 0) places.push_back(size);
  std::ranges::sort(places);
  Rest given;
  for (const uint32_t place : places) {
    while (given.values.size() < place) ASSERT_TRUE(next_of(saving, given));
    Iterator<Value> restored = dataset.with_options(draw_options(random)).iterate();
    if (random.below(4) == 0) {  // an iterator that was used before
      Rest used;
      next_of(restored, used);
    }
    restored.restore(saving.state());
    ASSERT_EQ(restored.position(), place);
    Rest more;
    for (uint32_t i = random.below(size - place + 1); i > 0; --i) {
      ASSERT_TRUE(next_of(restored, more));
    }
    Iterator<Value> again = dataset.with_options(draw_options(random)).iterate();
    again.restore(restored.state());
    const size_t further = place + more.values.size();
    ASSERT_EQ(again.position(), further);
    ASSERT_EQ(rest_of(again), after(expected, further)) << "saved after " << place << " elements "
                                                        << "and after " << further;
    ASSERT_EQ(rest_of(restored), after(expected, further)) << "saved after " << place;
  }
  ASSERT_EQ(rest_of(saving), after(expected, places.back()));
  if (!expected.error.empty()) return;
  Iterator<Value> ended = dataset.iterate();
  ended.restore(saving.state());
  ASSERT_EQ(rest_of(ended), Rest{});
}

class RandomChains : public testing::TestWithParam<uint64_t> {};

TEST_P(RandomChains, EqualTheirTwinsAndResumeAnywhere) {
  const TemporaryDirectory directory;
  uint64_t known = 0;  // chains whose cardinality is known
  for (uint64_t trial = 0; trial < trial_count(); ++trial) {
    Random random(derive_key(2026, GetParam()), 0, trial);
    const Twins chain = draw_chain(random, 9, directory.path());
    const Rest expected = rest_of(chain.twin);
    const PipelineOptions options = draw_options(random);
    SCOPED_TRACE("trial " + std::to_string(trial) + "\n" + chain.dataset.explain());
    const Cardinality cardinality = chain.dataset.cardinality();
    const auto yielded = static_cast<Cardinality>(expected.values.size());
    if (cardinality != kUnknownCardinality) {
      ++known;
      // An error ends a pass early.
      ASSERT_TRUE(expected.error.empty() ? cardinality == yielded : cardinality >= yielded)
          << cardinality << " instead of " << yielded;
    }
    Iterator<Value> iterator = chain.dataset.with_options(options).iterate();
    ASSERT_EQ(rest_of(iterator), expected)
        << options.threads << " threads, chunks of " << options.chunk_size;
    ASSERT_NO_FATAL_FAILURE(expect_resumes(chain.dataset, expected, random));
  }
  EXPECT_GT(known, trial_count() / 20);
}

TEST_P(RandomChains, YieldInALoopOverEpochsWhatRepeatYields) {
  const TemporaryDirectory directory;
  for (uint64_t trial = 0; trial < trial_count() / 10; ++trial) {
    Random random(derive_key(2027, GetParam()), 0, trial);
    const Twins chain = draw_chain(random, 6, directory.path());
    const PipelineOptions options = draw_options(random);
    SCOPED_TRACE("trial " + std::to_string(trial) + "\n" + chain.dataset.explain());
    for (const uint64_t epoch : {uint64_t{1}, uint64_t{77}, UINT64_MAX}) {
      Iterator<Value> iterator = chain.dataset.with_options(options).iterate({.epoch = epoch});
      ASSERT_EQ(rest_of(iterator), rest_of(chain.twin, epoch)) << "in epoch " << epoch;
    }
    Rest loop;
    for (uint64_t epoch = 0; epoch < 3 && loop.error.empty(); ++epoch) {
      Iterator<Value> iterator = chain.dataset.epoch(epoch).iterate();
      Rest pass = rest_of(iterator);
      std::ranges::move(pass.values, std::back_inserter(loop.values));
      loop.error = std::move(pass.error);
    }
    Iterator<Value> repeated = chain.dataset.repeat(3).with_options(options).iterate();
    ASSERT_EQ(rest_of(repeated), loop);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomChains, testing::Range<uint64_t>(0, 10));

}  // namespace
}  // namespace recordpipe
