// Tests that a pipeline saved anywhere and restored into a fresh iterator continues as if it had
// not been interrupted.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/base/parameter.h"
#include "recordpipe/base/philox.h"
#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/pipeline/from_generator.h"
#include "recordpipe/pipeline/from_vector.h"
#include "recordpipe/pipeline/internal/operators.h"
#include "recordpipe/pipeline/pack_sequences.h"
#include "recordpipe/pipeline/range.h"
#include "recordpipe/proto/iterator_state.pb.h"
#include "tests/pipeline/collect.h"
#include "tests/pipeline/resume.h"
#include "tests/pipeline/sealed_state.h"
#include "tests/support/expect_error.h"

namespace recordpipe {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

uint64_t mix(uint64_t value, Random& random) { return value * 31 + random.next64(); }

Dataset<uint64_t> everything() {
  return from_vector(numbers(500))
      .shuffle(100, 1)
      .map([](int x) { return static_cast<uint64_t>(x); })
      .map_with_random(2, mix)
      .filter([](uint64_t x) { return x % 3 != 0; })
      .shuffle(50, 2)
      .repeat(3)
      .map_with_random(2, mix)
      .skip(17)
      .take(900);
}

TEST(IteratorState, GoesOnFromAnyPlaceWithAnyOptions) {
  expect_resumes_anywhere(everything(), on_any_machine(everything()), 7);
  const auto batches = everything().batch(8);
  expect_resumes_anywhere(batches.prefetch(3), on_any_machine(batches.prefetch(5)));
  expect_resumes_anywhere(batches, on_any_machine(batches.prefetch(1).prefetch(9)), 5);
}

TEST(IteratorState, GoesOnInsideWhatAnElementBecame) {
  const auto flat = from_vector(numbers(60))
                        .shuffle(7, 1)
                        .flat_map([](int x) { return numbers(x % 5); })
                        .map_with_random(3, [](int x, Random& r) { return mix(x, r); })
                        .repeat(2);
  expect_resumes_anywhere(flat.with_options({.threads = 2, .chunk_size = 3}), on_any_machine(flat));
  const auto unbatched = flat.batch(7).unbatch().prefetch(2);
  expect_resumes_anywhere(unbatched, on_any_machine(unbatched));
}

TEST(IteratorState, GoesOnInEveryOpenInput) {
  const auto open = [](int n) {
    return from_vector(numbers(n % 7 + 3 * (n % 3)))
        .shuffle(4, 5)
        .map_with_random(6, [](int x, Random& r) { return mix(x, r); });
  };
  // Long inputs stay open while short ones are opened and closed.
  const auto source = from_vector(numbers(40)).shuffle(9, 1);
  for (const size_t cycle_length : {1, 3, 50}) {
    const auto turns = source.interleave(open, cycle_length, 2).repeat(2);
    expect_resumes_anywhere(turns.with_options({.threads = 2, .chunk_size = 3}),
                            on_any_machine(turns));
  }
  const auto nested = source.flat_map(
      [open](int n) { return from_vector(numbers(n % 4)).interleave(open, 2).batch(3); });
  expect_resumes_anywhere(nested, on_any_machine(nested.prefetch(2)));
}

TEST(IteratorState, GoesOnInAWindowAScanAndPastWhatWasSkipped) {
  const auto bad_third = [](int x) {
    if (x % 3 == 1) throw Error({.kind = ErrorKind::corrupted, .reason = "bad"});
    return x;
  };
  const auto sum = [](int state, int x) { return std::pair(state + x, state + x); };
  const auto text = [](const std::string& state, int x) {
    return std::pair((state + std::to_string(x)).substr(0, 20), x + static_cast<int>(state.size()));
  };
  const auto good = from_vector(numbers(150)).map(bad_third).shuffle(20, 1).ignore_errors();
  expect_resumes_anywhere(good, on_any_machine(good));
  const auto scanned = good.scan(7, sum).scan(std::string("x"), text).repeat(2);
  expect_resumes_anywhere(scanned, on_any_machine(scanned));
  for (const size_t shift : {1, 3, 8}) {
    const auto windows = good.window(5, shift).repeat(2);
    expect_resumes_anywhere(windows, on_any_machine(windows));
  }
  const auto padded = from_vector(numbers(50)).map([](int n) { return numbers(n % 6); });
  expect_resumes_anywhere(padded.padded_batch(4, -1), on_any_machine(padded.padded_batch(4, -1)));
}

// Saves and restores after every batch.
TEST(IteratorState, RestoredAgainAndAgain) {
  const auto dataset = everything().batch(16).prefetch(2);
  std::vector<std::vector<uint64_t>> out;
  std::string state = dataset.iterate().state();
  while (true) {
    Iterator<std::vector<uint64_t>> life = dataset.iterate();
    life.restore(state);
    const auto* batch = life.next();
    if (!batch) break;
    out.push_back(*batch);
    state = life.state();
  }
  EXPECT_TRUE(out == collect(dataset));
}

TEST(IteratorState, AUsedIteratorCanBeSetBack) {
  const auto dataset = everything().prefetch(4);
  const std::vector<uint64_t> expected = collect(dataset);
  Iterator<uint64_t> iterator = dataset.iterate();
  const std::string start = iterator.state();
  for (int i = 0; i < 300; ++i) iterator.next();
  const std::string middle = iterator.state();
  iterator.restore(start);
  EXPECT_TRUE(rest_of(iterator) == expected);
  iterator.restore(middle);
  EXPECT_TRUE(rest_of(iterator) == std::vector<uint64_t>(expected.begin() + 300, expected.end()));
}

TEST(IteratorState, AnEndlessRepeatGoesOnInItsEpoch) {
  const auto dataset = from_vector(numbers(1000)).shuffle(300, 7).repeat().batch(64);
  Iterator<std::vector<int>> iterator = dataset.iterate();
  for (int i = 0; i < 10000; ++i) iterator.next();
  Iterator<std::vector<int>> restored = dataset.with_options({.threads = 3}).iterate();
  restored.restore(iterator.state());
  for (int i = 0; i < 100; ++i) ASSERT_EQ(*restored.next(), *iterator.next());
}

TEST(IteratorState, IsSmall) {
  constexpr size_t kBuffer = 16384;
  const auto dataset = from_vector(numbers(60000)).shuffle(kBuffer, 7).repeat().batch(128);
  Iterator<std::vector<int>> iterator = dataset.iterate();
  for (int i = 0; i < 1000; ++i) {
    iterator.next();
    if (i % 50 == 0) {
      EXPECT_LT(iterator.state().size(), (16u << 10) + 8 * kBuffer);
    }
  }
}

TEST(IteratorState, AnotherPlanIsRefusedByName) {
  const auto source = from_vector(numbers(10));
  const std::string state = source.shuffle(5, 1).batch(2).iterate().state();
  const auto refusal = [&](const auto& dataset) {
    auto iterator = dataset.iterate();
    const Error error = error_of([&] { iterator.restore(state); });
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    return error.reason();
  };
  EXPECT_THAT(refusal(source.shuffle(5, 2).batch(2)),
              AllOf(HasSubstr("shuffle(buffer_size=5, seed=1)"),
                    HasSubstr("shuffle(buffer_size=5, seed=2)")));
  EXPECT_THAT(refusal(source.shuffle(5, 1).batch(3)), HasSubstr("batch_size=3"));
  EXPECT_THAT(refusal(source.shuffle(5, 1).take(4).batch(2)), HasSubstr("take(count=4)"));
  EXPECT_THAT(refusal(source.shuffle(5, 1)), HasSubstr("nothing"));
  EXPECT_THAT(refusal(from_vector(numbers(11)).shuffle(5, 1).batch(2)), HasSubstr("elements=11"));
}

// A function whose parameter may contain any bytes.
struct Labelled {
  std::vector<Parameter> parameters() const { return {{"label", label}}; }
  int operator()(int x) const { return x; }
  std::string label;
};

TEST(IteratorState, ParametersMayBeAnyBytes) {
  const auto source = from_vector(numbers(10));
  // The plan's text is saved up to a limit, which may fall inside a character.
  std::string characters;
  while (characters.size() < 10'000) characters += "\u00e4\u20ac";
  for (const std::string& label :
       {std::string("K\u00e4se"), std::string("\xff\0\n", 3), characters, "." + characters,
        ".." + characters, "..." + characters, "...." + characters}) {
    const auto dataset = source.map(Labelled{label});
    Iterator<int> saving = dataset.iterate();
    saving.next();
    Iterator<int> restored = dataset.iterate();
    restored.restore(saving.state());
    EXPECT_EQ(rest_of(restored), rest_of(saving));
    EXPECT_THAT(error_of([&] { source.iterate().restore(saving.state()); }).reason(),
                HasSubstr("map(label="));
  }
}

// Each operator that takes a function, with a function of any kind that has parameters.
struct AnyFunction : Labelled {
  using Labelled::operator();
  int operator()(int x, Random&) const { return x; }
  std::pair<int, int> operator()(int state, int x) const { return {state, x}; }
};
struct Vectors : Labelled {
  std::vector<int> operator()(int x) const { return {x}; }
};
struct Datasets : Labelled {
  Dataset<int> operator()(int x) const { return from_vector(std::vector{x}); }
};
struct Lengths : Labelled {
  size_t operator()(const std::vector<int>& v) const { return v.size(); }
};
struct Factory : Labelled {
  auto operator()() const {
    return [] { return std::optional<int>(); };
  }
};
struct Collator : VectorCollator<int> {
  explicit Collator(std::string text) : label(std::move(text)) {}
  std::vector<Parameter> parameters() const { return {{"label", label}}; }
  std::string label;
};

TEST(IteratorState, TheParametersOfEveryFunctionAreCompared) {
  const auto source = from_vector(numbers(10));
  const auto vectors = source.map([](int x) { return std::vector{x}; });
  const LengthBuckets buckets{{3}, {2, 2}};
  const auto plans = [&](const std::string& label) {
    return std::vector<std::string>{
        source.map(AnyFunction{label}).explain(),
        source.map_with_random(1, AnyFunction{label}).explain(),
        source.filter(AnyFunction{label}).explain(),
        source.flat_map(Vectors{label}).explain(),
        source.flat_map(Datasets{label}).explain(),
        source.interleave(Datasets{label}, 2).explain(),
        source.scan(0, AnyFunction{label}).explain(),
        source.batch(2, DropRemainder::no, Collator(label)).explain(),
        vectors.bucket_by_sequence_length(Lengths{label}, buckets).explain(),
        vectors.pack_sequences(Lengths{label}, {4}, VectorCollator<std::vector<int>>()).explain(),
        from_generator(Factory{label}).explain(),
    };
  };
  for (const std::string& plan : plans("a")) EXPECT_THAT(plan, HasSubstr("label=a"));
}

struct Coded : Labelled {
  std::vector<Parameter> parameters() const {
    return {{"name", "odd"},
            {"code", label, Parameter::Kind::code},
            {"not_compared", "model", Parameter::Kind::not_compared}};
  }
};

TEST(IteratorState, TheCodeOfAFunctionIsComparedUnlessToldOtherwise) {
  const auto source = from_vector(numbers(10));
  const auto dataset = source.map(Coded{{"1f"}});
  const auto changed = source.map(Coded{{"2e"}});
  EXPECT_THAT(dataset.explain(), HasSubstr("map(name=odd)\n"));
  EXPECT_NE(dataset.plan_hash(), changed.plan_hash());
  EXPECT_THAT(internal::not_compared(internal::DatasetNode::of(dataset.batch(2))),
              ElementsAre("map: model"));
  Iterator<int> saving = dataset.iterate();
  saving.next();
  const std::string state = saving.state();
  Iterator<int> other = changed.iterate();
  const Error error = error_of([&] { other.restore(state); });
  EXPECT_THAT(error.reason(),
              AllOf(HasSubstr("other code"), HasSubstr("code=1f"), HasSubstr("code=2e")));
  EXPECT_THAT(error.hint(), HasSubstr("without comparing code"));
  other.restore(other.with_own_code(state));
  EXPECT_EQ(other.position(), 1u);
  // The state of another plan stays one.
  Iterator<int> another = changed.take(5).iterate();
  EXPECT_EQ(another.with_own_code(state), state);
  EXPECT_EQ(error_of([&] { another.with_own_code("none"); }).kind(), ErrorKind::invalid_argument);
}

TEST(IteratorState, WhatIsNoStateIsRefused) {
  const auto dataset = from_vector(numbers(100)).shuffle(20, 1).repeat(2).batch(4);
  Iterator<std::vector<int>> saved = dataset.iterate();
  for (int i = 0; i < 9; ++i) saved.next();
  const std::string state = saved.state();
  const auto refuse = [&](const std::string& bytes) {
    Iterator<std::vector<int>> iterator = dataset.iterate();
    const Error error = error_of([&] { iterator.restore(bytes); });
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    return error.reason();
  };
  refuse("");
  refuse("this is no state");
  for (size_t size = 0; size < state.size(); size += 3) refuse(state.substr(0, size));
  for (size_t at = 0; at < state.size(); ++at) {
    std::string damaged = state;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x11);
    refuse(damaged);
  }
  proto::IteratorState other;
  other.ParseFromString(state);
  for (const uint32_t version : {3, 5}) {
    other.set_version(version);
    EXPECT_THAT(
        refuse(sealed(other)),
        AllOf(HasSubstr("a state of version " + std::to_string(version)), HasSubstr("version 4")));
  }
}

// The state is undamaged, but its position doesn't exist in this pipeline.
TEST(IteratorState, AfterAPlaceThatIsNotThereItGoesOnWhereItWas) {
  const auto dataset = everything().prefetch(2);
  Iterator<uint64_t> iterator = dataset.iterate({.epoch = 2});
  for (int i = 0; i < 100; ++i) iterator.next();
  Iterator<uint64_t> undisturbed = dataset.iterate({.epoch = 2});
  for (int i = 0; i < 100; ++i) undisturbed.next();
  proto::IteratorState far;
  far.ParseFromString(iterator.state());
  far.mutable_place()->set_passed_over(100'000);
  EXPECT_EQ(error_of([&] { iterator.restore(sealed(far)); }).kind(), ErrorKind::invalid_argument);
  EXPECT_EQ(iterator.position(), 100u);
  EXPECT_EQ(iterator.epoch(), 2u);
  EXPECT_TRUE(rest_of(iterator) == rest_of(undisturbed));
}

TEST(IteratorState, AfterAGeneratorThatHasBecomeShorterItGoesOnWhereItWas) {
  auto size = std::make_shared<int>(10);
  const auto dataset = from_generator([size] {
    return [next = 0, size]() mutable {
      return next < *size ? std::optional<int>(next++) : std::nullopt;
    };
  });
  Iterator<int> saving = dataset.iterate();
  for (int i = 0; i < 8; ++i) saving.next();
  const std::string state = saving.state();
  *size = 5;
  Iterator<int> iterator = dataset.iterate();
  for (int i = 0; i < 3; ++i) iterator.next();
  for (int trial = 0; trial < 2; ++trial) {
    EXPECT_EQ(error_of([&] { iterator.restore(state); }).kind(), ErrorKind::invalid_argument);
    EXPECT_EQ(iterator.position(), 3u);
  }
  EXPECT_THAT(rest_of(iterator), ElementsAre(3, 4));
  // There is no way back to where it was, either.
  *size = 2;
  EXPECT_EQ(error_of([&] { iterator.restore(state); }).kind(), ErrorKind::invalid_argument);
  EXPECT_EQ(iterator.position(), 0u);
  EXPECT_THAT(rest_of(iterator), ElementsAre(0, 1));
}

TEST(IteratorState, OfAPassThatThereIsNotIsRefused) {
  for (const int64_t count : {0, 1, 2, -1}) {
    const auto dataset = from_vector(numbers(5)).repeat(count);
    Iterator<int> iterator = dataset.iterate();
    iterator.next();
    proto::IteratorState last;
    last.ParseFromString(iterator.state());
    last.mutable_place()->set_numbers(0, UINT64_MAX);
    const std::string state = sealed(last);
    if (count >= 0) {
      EXPECT_EQ(error_of([&] { iterator.restore(state); }).kind(), ErrorKind::invalid_argument);
    } else {
      iterator.restore(state);
      EXPECT_EQ(rest_of(iterator).size(), 4u) << "the last pass that has a number";
    }
  }
}

// Edits the numbers of a saved shuffle: how many elements were drawn, how many were taken from the
// input, whether the input has ended, and the position of each element in the buffer.
std::string with_numbers(const std::string& state, const std::vector<uint64_t>& numbers) {
  proto::IteratorState message;
  message.ParseFromString(state);
  message.mutable_place()->set_passed_over(0);
  message.mutable_place()->mutable_numbers()->Assign(numbers.begin(), numbers.end());
  return sealed(message);
}

std::vector<uint64_t> numbers_of(const std::string& state) {
  proto::IteratorState message;
  message.ParseFromString(state);
  return {message.place().numbers().begin(), message.place().numbers().end()};
}

TEST(IteratorState, OfAShuffleThatThereIsNotIsRefused) {
  const auto dataset = from_vector(numbers(1000)).shuffle(400, 1);
  Iterator<int> iterator = dataset.with_options({.chunk_size = 1}).iterate();
  for (int i = 0; i < 300; ++i) iterator.next();
  const std::vector<uint64_t> good = numbers_of(iterator.state());
  ASSERT_EQ(good.size(), 3u + 400u);
  using Numbers = std::vector<uint64_t>;
  const std::vector<std::function<void(Numbers&)>> edits = {
      [](Numbers& n) { n[3] = n[4]; },
      [](Numbers& n) { n[3] = *std::max_element(n.begin() + 4, n.end()); },
      [](Numbers& n) { std::fill(n.begin() + 3, n.end(), n[3]); },
      [](Numbers& n) { n[3] = n[1]; },
      [](Numbers& n) { n[3] = 999'999; },
      [](Numbers& n) { n[3] = UINT64_MAX; },
      [](Numbers& n) { n.pop_back(); },
      [](Numbers& n) { n.push_back(0); },
      [](Numbers& n) { n[0] = n[1] + 1; },
      [](Numbers& n) { n[2] = 2; },
      [](Numbers& n) { n[0] += 100'000, n[1] += 100'000; },
      [](Numbers& n) { n.resize(2); },
  };
  for (size_t i = 0; i < edits.size(); ++i) {
    Numbers bad = good;
    edits[i](bad);
    const std::string state = with_numbers(iterator.state(), bad);
    Iterator<int> other = dataset.iterate();
    EXPECT_EQ(error_of([&] { other.restore(state); }).kind(), ErrorKind::invalid_argument)
        << "edit " << i;
    EXPECT_EQ(rest_of(other), collect(dataset)) << "edit " << i;
  }
}

TEST(IteratorState, OfAShuffleAtTheLastNumberIsRefused) {
  const auto dataset = range(INT64_MIN, INT64_MAX).repeat().shuffle(4, 1);
  Iterator<int64_t> iterator = dataset.iterate();
  const std::string state =
      with_numbers(iterator.state(), {UINT64_MAX - 1, UINT64_MAX, 0, UINT64_MAX});
  EXPECT_EQ(error_of([&] { iterator.restore(state); }).kind(), ErrorKind::invalid_argument);
}

// The buffer's elements are found again whatever lies between them.
TEST(IteratorState, OfAShuffleMayHaveGapsOfAnyLength) {
  for (const uint64_t step : {1, 2, 32, 33, 34, 35, 255, 256, 257, 300}) {
    for (const uint64_t size : {1, 2, 7, 8, 9, 255, 256, 257, 400}) {
      const uint64_t taken = (size - 1) * step + 1;
      const auto dataset = range(0, static_cast<int64_t>(taken) + 500).shuffle(400, 1);
      std::vector<uint64_t> state = {taken - size, taken, 0};
      std::vector<int64_t> expected;
      for (uint64_t i = size; i > 0; --i) state.push_back((i - 1) * step);
      for (uint64_t i = 0; i < size; ++i) expected.push_back(static_cast<int64_t>(i * step));
      for (uint64_t i = 0; i < 500; ++i) expected.push_back(static_cast<int64_t>(taken + i));
      Iterator<int64_t> iterator = dataset.iterate();
      iterator.restore(with_numbers(iterator.state(), state));
      std::vector<int64_t> rest = rest_of(iterator);
      std::ranges::sort(rest);
      ASSERT_EQ(rest, expected) << size << " elements, each " << step << " after the last";
    }
  }
}

// The dataset before interleave is moved to its position once, not once for each open input.
TEST(IteratorState, AnInterleaveRunsItsInputOnceToGoOn) {
  const auto made = std::make_shared<std::atomic<int>>(0);
  const auto counted = from_generator([made] {
    return [made, next = 0]() mutable -> std::optional<int> {
      ++*made;
      return next < 5000 ? std::optional(next++) : std::nullopt;
    };
  });
  // One input stays open while thousands of others are opened and closed.
  const auto dataset = counted.interleave(
      [](int i) { return from_vector(numbers(i == 3 ? 1000 : 1 + i % 7)).take(1000); }, 20);
  const auto expected = collect(dataset.with_options({.threads = 1}));
  for (const size_t taken : {5, 70, 1000, 9000}) {
    Iterator<int> saving = dataset.iterate();
    for (size_t i = 0; i < taken; ++i) saving.next();
    const std::string state = saving.state();
    Iterator<int> restored = dataset.with_options({.threads = 1, .chunk_size = 16}).iterate();
    *made = 0;
    restored.restore(state);
    EXPECT_LE(*made, static_cast<int>(taken) + 100);
    EXPECT_TRUE(
        rest_of(restored) ==
        std::vector<int>(expected.begin() + static_cast<std::ptrdiff_t>(taken), expected.end()));
  }
}

TEST(IteratorState, ThereIsNoneAfterAnError) {
  const auto failing = from_vector(numbers(100)).map([](int x) {
    if (x == 50) throw 50;
    return x;
  });
  for (const auto& dataset : {failing, failing.prefetch(2)}) {
    Iterator<int> iterator = dataset.iterate();
    for (int i = 0; i < 50; ++i) ASSERT_NE(iterator.next(), nullptr);
    const std::string state = iterator.state();
    EXPECT_THROW(iterator.next(), int);
    EXPECT_EQ(error_of([&] { iterator.state(); }).kind(), ErrorKind::invalid_argument);
    iterator.restore(state);
    EXPECT_EQ(iterator.position(), 50u);
    EXPECT_THROW(iterator.next(), int);
  }
}

TEST(IteratorState, NestedOperatorsMayBeMany) {
  auto dataset = from_vector(numbers(3));
  for (int i = 0; i < 300; ++i) dataset = dataset.concatenate(from_vector(numbers(1)));
  Iterator<int> saving = dataset.iterate();
  for (int i = 0; i < 200; ++i) saving.next();
  Iterator<int> restored = dataset.iterate();
  restored.restore(saving.state());
  EXPECT_EQ(rest_of(restored).size(), 103u);
}

TEST(Explain, SaysOneOperatorALine) {
  EXPECT_EQ(from_vector(numbers(3)).shuffle(2, 7).repeat().batch(2).prefetch(4).explain(),
            "from_vector(elements=3)\n"
            "shuffle(buffer_size=2, seed=7)\n"
            "repeat(count=-1)\n"
            "batch(batch_size=2, drop_remainder=false)\n"
            "prefetch(buffer_size=4)\n");
}

TEST(Explain, ShowsTextNumbersAndFlagsOfFunctions) {
  struct Scaled {
    std::vector<Parameter> parameters() const {
      return {Parameter("mode", "text"),   Parameter("name", std::string_view("a b")),
              Parameter("factor", 0.5f),   Parameter("limit", uint64_t{1} << 63),
              Parameter("centered", true), Parameter("least", -1)};
    }
    int operator()(int x) const { return x; }
  };
  EXPECT_EQ(from_vector(numbers(3)).map(Scaled{}).explain(),
            "from_vector(elements=3)\n"
            "map(mode=text, name=a b, factor=0.5, limit=9223372036854775808, centered=true, "
            "least=-1)\n");
}

}  // namespace
}  // namespace recordpipe
