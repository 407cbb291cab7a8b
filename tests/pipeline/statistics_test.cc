// Tests statistics per operator (elements, time, waiting), the name of the bottleneck, and the
// timeline.
#include "recordpipe/pipeline/statistics.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/pipeline/from_vector.h"
#include "recordpipe/pipeline/zip.h"
#include "tests/pipeline/collect.h"

namespace recordpipe {
namespace {

void nap() { std::this_thread::sleep_for(std::chrono::microseconds(300)); }

template <class T>
PipelineStatistics statistics_of(const Dataset<T>& dataset) {
  auto iterator = dataset.iterate();
  while (iterator.next()) {
  }
  return iterator.statistics();
}

const StageStatistics& stage(const PipelineStatistics& statistics, std::string_view name) {
  const auto found = std::ranges::find(statistics.stages, name, &StageStatistics::name);
  if (found == statistics.stages.end()) throw std::out_of_range(std::string(name));
  return *found;
}

std::vector<std::string> names(const PipelineStatistics& statistics) {
  std::vector<std::string> result;
  for (const StageStatistics& stage : statistics.stages) {
    result.push_back(std::string(stage.depth, '>') + stage.name);
  }
  return result;
}

TEST(Statistics, CountEachOperatorsElements) {
  const auto odd = [](int x) { return x % 2 != 0; };
  const auto dataset = from_vector(numbers(1000))
                           .shuffle(100, 1)
                           .filter(odd)
                           .map([](int x) { return x + 1; })
                           .batch(8)
                           .prefetch(2)
                           .with_options({.threads = 3});
  const PipelineStatistics statistics = statistics_of(dataset);
  EXPECT_EQ(names(statistics), (std::vector<std::string>{"from_vector", "shuffle", "filter", "map",
                                                         "batch", "prefetch", "consumer"}));
  std::vector<uint64_t> elements;
  for (const StageStatistics& stage : statistics.stages) elements.push_back(stage.elements);
  EXPECT_EQ(elements, (std::vector<uint64_t>{1000, 1000, 500, 500, 63, 63, 63}));
  EXPECT_EQ(statistics.threads, 3u);
}

TEST(Statistics, NothingHasHappenedAtFirst) {
  const PipelineStatistics statistics = from_vector(numbers(10)).batch(2).iterate().statistics();
  EXPECT_EQ(statistics.elapsed, 0);
  for (const StageStatistics& stage : statistics.stages) {
    EXPECT_EQ(stage.elements, 0u);
    EXPECT_EQ(stage.busy(), 0);
    EXPECT_EQ(stage.load, 0);
  }
  EXPECT_EQ(statistics.bottleneck(), nullptr);
  EXPECT_NE(statistics.text().find("bottleneck: none yet"), std::string::npos);
}

struct LongNamed {
  using Batch = int;
  std::string name() const { return std::string(300, 'n'); }
  void reset(int&, size_t) const {}
  void set(int&, size_t, int) const {}
};

TEST(Statistics, LongNamesAreWhole) {
  auto iterator = from_vector(numbers(100'000)).batch(10, DropRemainder::no, LongNamed{}).iterate();
  while (iterator.next()) {
  }
  PipelineStatistics statistics = iterator.statistics();
  for (auto& stage : statistics.stages) stage.load = stage.name[0] == 'n' ? 1 : 0;
  const std::string text = statistics.text();
  EXPECT_THAT(text, testing::HasSubstr("bottleneck: " + std::string(300, 'n') + ", at 100%"));
  EXPECT_TRUE(text.ends_with(" s\n"));
}

TEST(Statistics, InputsComeBeforeWhatReadsThem) {
  const auto left = from_vector(numbers(10)).map([](int x) { return x; });
  const auto right = from_vector(numbers(10)).take(5);
  const PipelineStatistics statistics = statistics_of(zip(left, right).batch(2));
  EXPECT_EQ(names(statistics), (std::vector<std::string>{">from_vector", ">map", ">from_vector",
                                                         ">take", "zip", "batch", "consumer"}));
  EXPECT_EQ(stage(statistics, "zip").elements, 5u);
}

TEST(Statistics, NameTheBottleneck) {
  const auto source = from_vector(numbers(400));
  const auto slow = [](int x) {
    nap();
    return x;
  };
  const auto slow_test = [](int) {
    nap();
    return true;
  };
  const auto slow_sum = [](const int& sum, int x) {
    nap();
    return std::pair(sum + x, x);
  };
  const auto quick = [](int x) { return x; };
  for (const size_t threads : {1, 2, 4}) {
    const PipelineOptions options{.threads = threads, .chunk_size = 8};
    const auto bottleneck_of = [&](const auto& dataset) {
      return statistics_of(dataset.with_options(options)).bottleneck()->name;
    };
    EXPECT_EQ(bottleneck_of(source.shuffle(50, 1).map(slow).batch(4).prefetch(2)), "map");
    EXPECT_EQ(bottleneck_of(source.map(quick).filter(slow_test).batch(4)), "filter");
    EXPECT_EQ(bottleneck_of(source.map(quick).scan(0, slow_sum).prefetch(9)), "scan");
    auto iterator = source.map(quick).batch(4).prefetch(2).with_options(options).iterate();
    while (iterator.next()) nap();
    EXPECT_EQ(iterator.statistics().bottleneck()->name, "consumer");
    EXPECT_NE(iterator.statistics().text().find("bottleneck: consumer"), std::string::npos);
  }
}

// With one thread, the times are parts of the elapsed time and add up to most of it.
TEST(Statistics, TimesAddUp) {
  const auto slow = [](int x) {
    nap();
    return x;
  };
  const PipelineStatistics statistics =
      statistics_of(from_vector(numbers(300)).map(slow).batch(4).with_options({.threads = 1}));
  double sum = 0;
  for (const StageStatistics& stage : statistics.stages) {
    EXPECT_GE(stage.planning, 0) << stage.name;
    EXPECT_GE(stage.computing, 0) << stage.name;
    sum += stage.busy() + stage.waiting_for_input + stage.waiting_for_room;
  }
  EXPECT_LE(sum, statistics.elapsed);
  EXPECT_GE(stage(statistics, "map").computing, 300 * 300e-6);
  EXPECT_LT(stage(statistics, "batch").computing, stage(statistics, "map").computing);
  EXPECT_GT(stage(statistics, "map").load, 0.5);
}

TEST(Statistics, WaitingForInputAndForRoom) {
  const auto slow = [](int x) {
    nap();
    return x;
  };
  const auto dataset = from_vector(numbers(100)).map(slow).prefetch(4);
  const PipelineStatistics fed = statistics_of(dataset.with_options({.threads = 1}));
  EXPECT_GT(stage(fed, "consumer").waiting_for_input, 0.5 * fed.elapsed);

  auto iterator = from_vector(numbers(100)).prefetch(4).iterate();
  while (iterator.next()) nap();
  const PipelineStatistics full = iterator.statistics();
  EXPECT_GT(stage(full, "prefetch").waiting_for_room, 0.5 * full.elapsed);
}

TEST(Statistics, WhatInterleaveOpensCountsAsItsOwn) {
  const auto open = [](int x) {
    return from_vector(numbers(3)).map([x](int y) {
      nap();
      return x * y;
    });
  };
  const PipelineStatistics statistics =
      statistics_of(from_vector(numbers(100)).interleave(open, 4, 1));
  EXPECT_EQ(names(statistics), (std::vector<std::string>{"from_vector", "interleave", "consumer"}));
  EXPECT_EQ(stage(statistics, "interleave").elements, 300u);
  EXPECT_EQ(statistics.bottleneck()->name, "interleave");
}

TEST(Statistics, AreReadWhileOthersWork) {
  auto iterator = from_vector(numbers(20'000))
                      .map([](int x) { return x + 1; })
                      .batch(4)
                      .prefetch(3)
                      .with_options({.threads = 3})
                      .iterate();
  std::atomic<bool> done = false;
  std::thread reader([&] {
    uint64_t last = 0;
    while (!done) {
      const uint64_t now = iterator.statistics().stages.back().elements;
      EXPECT_GE(now, last);
      const MemoryUse use = iterator.memory();
      EXPECT_LE(use.bytes, use.peak);
      last = now;
    }
  });
  while (iterator.next()) {
  }
  done = true;
  reader.join();
  EXPECT_EQ(iterator.statistics().stages.back().elements, 5000u);
}

TEST(Trace, ShowsWhatThreadsDidAndNests) {
  const auto trace = std::make_shared<ChromeTrace>();
  const auto slow = [](int x) {
    nap();
    return x;
  };
  const auto dataset = from_vector(numbers(200))
                           .map(slow)
                           .batch(10)
                           .prefetch(2)
                           .with_options({.threads = 2, .chunk_size = 5, .trace = trace});
  statistics_of(dataset);
  const auto json = nlohmann::json::parse(trace->json());
  std::set<std::string> events, threads;
  std::set<int64_t> named;
  std::map<int64_t, std::vector<std::pair<double, double>>> spans;  // by thread
  for (const auto& event : json.at("traceEvents")) {
    if (event.at("ph") == "M") {
      const std::string name = event.at("args").at("name");
      if (event.at("name") == "thread_name") {
        threads.insert(name);
        named.insert(event.at("tid").get<int64_t>());
      } else {
        EXPECT_EQ(event.at("name"), "process_name");
        EXPECT_EQ(name, "pipeline_test");
      }
      continue;
    }
    ASSERT_EQ(event.at("ph"), "X");
    events.insert(event.at("name"));
    const double begin = event.at("ts"), duration = event.at("dur");
    EXPECT_GE(begin, 0);
    EXPECT_GE(duration, 0);
    spans[event.at("tid")].push_back({begin, begin + duration});
  }
  for (const char* name : {"from_vector", "map", "batch", "prefetch", "consumer"}) {
    EXPECT_TRUE(events.contains(name)) << name;
  }
  threads.erase("worker");  // the worker may start too late to get any work
  EXPECT_EQ(threads, (std::set<std::string>{"consumer", "prefetch"}));
  EXPECT_GE(spans.size(), 2u);
  for (auto& [thread, of_thread] : spans) {
    EXPECT_TRUE(named.contains(thread)) << thread;
    // Sorts outer spans before the spans inside them.
    std::ranges::sort(of_thread, [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : a.second > b.second;
    });
    std::vector<double> ends;
    for (const auto& [begin, end] : of_thread) {
      while (!ends.empty() && ends.back() <= begin) ends.pop_back();
      if (!ends.empty()) {
        EXPECT_LE(end, ends.back() + 1e-3) << "on thread " << thread;
      }
      ends.push_back(end);
    }
  }
}

TEST(Trace, IsBounded) {
  const auto trace = std::make_shared<ChromeTrace>(/*max_events=*/10);
  statistics_of(from_vector(numbers(10'000)).batch(2).with_options({.trace = trace}));
  const auto json = nlohmann::json::parse(trace->json());
  EXPECT_GT(trace->dropped(), 0u);
  EXPECT_EQ(json.at("dropped_events"), trace->dropped());
}

TEST(Trace, AnyNameIsValidJson) {
  ChromeTrace trace;
  const auto now = std::chrono::steady_clock::now();
  trace.add(trace.name("quote \" backslash \\ newline \n byte \xff"), trace.name("c"), now, now);
  const auto json = nlohmann::json::parse(trace.json());
  EXPECT_EQ(json.at("traceEvents").back().at("name"),
            "quote \" backslash \\ newline \n byte \uFFFD");
}

}  // namespace
}  // namespace recordpipe
