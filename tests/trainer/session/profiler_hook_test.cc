#include "recordpipe/trainer/session/profiler_hook.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "recordpipe/trainer/backend/reference/reference_backend.h"
#include "tests/support/temporary_directory.h"
#include "tests/trainer/session/test_session.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;

struct Span {
  double begin, end;
};

// Returns the spans of a timeline, by category and name.
std::map<std::string, Span> spans_in(const std::string& json) {
  std::map<std::string, Span> spans;
  const nlohmann::json timeline = nlohmann::json::parse(json);
  for (const auto& event : timeline.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    const std::string name =
        event.at("cat").get<std::string>() + ": " + event.at("name").get<std::string>();
    EXPECT_FALSE(spans.contains(name)) << name;
    const double begin = event.at("ts"), duration = event.at("dur");
    spans[name] = {begin, begin + duration};
  }
  return spans;
}

TEST(ProfilerHook, WritesATimelineEverySoManySteps) {
  TestSession session;
  session.run(25, std::make_unique<ProfilerHook>(posix_file_system(), session.folder / "trace",
                                                 ProfilerOptions{.every = {.steps = 10}}));
  EXPECT_THAT(posix_file_system().list(session.folder / "trace"),
              ElementsAre("timeline-11.json", "timeline-21.json"));
  EXPECT_THAT(session.notes, ElementsAre());

  const auto spans = spans_in(read_file(session.folder / "trace/timeline-21.json"));
  double last = spans.at("step: wait for the batch").begin;
  EXPECT_GE(last, 0);
  for (const char* phase : {"wait for the batch", "load", "forward", "backward", "update"}) {
    const Span span = spans.at(std::string("step: ") + phase);
    EXPECT_LE(last, span.begin + 1e-3) << phase;  // microseconds, rounded
    EXPECT_LE(span.begin, span.end) << phase;
    last = span.end;
  }
  const std::vector<bool> has_gradient = session.network.needed_gradients();
  for (const std::string direction : {"forward", "backward"}) {
    const Span whole = spans.at("step: " + direction);
    for (NodeId i = 0; i < session.network.nodes().size(); ++i) {
      const NetworkNode& node = session.network.nodes()[i];
      if (direction == "backward" && !has_gradient[i]) continue;
      const Span span = spans.at(direction + ": " + node.name);
      EXPECT_LE(whole.begin, span.begin) << node.name;
      EXPECT_LE(span.end, whole.end) << node.name;
    }
  }
}

TEST(ProfilerHook, RemovesWhatAKilledRunHasLeft) {
  TestSession session;
  const std::string trace = session.folder / "trace";
  posix_file_system().make_directories(trace);
  write_file(trace + "/.timeline-21.json.partial", "half");
  write_file(trace + "/.mine.json.partial", "kept");
  session.run(1, std::make_unique<ProfilerHook>(posix_file_system(), trace));
  EXPECT_THAT(posix_file_system().list(trace), ElementsAre(".mine.json.partial"));
}

TEST(ProfilerHook, DoesNotEndATrainingWhenItCannotWrite) {
  TestSession session;
  write_file(session.folder / "file", "");
  session.run(25, std::make_unique<ProfilerHook>(posix_file_system(), session.folder / "file/trace",
                                                 ProfilerOptions{.every = {.steps = 10}}));
  ASSERT_EQ(session.notes.size(), 2u);
  EXPECT_THAT(session.notes[0], testing::HasSubstr("file/trace"));
}

// Nodes are traced in the order of computation.
TEST(Runner, TracesItsNodesUntilToldToStop) {
  const Network network = TestSession().network;
  CpuBackend cpu;
  ReferenceBackend<float> reference;
  for (Backend* backend : {static_cast<Backend*>(&cpu), static_cast<Backend*>(&reference)}) {
    const auto variables = backend->make_variables(network);
    initialize(*variables, 1);
    const auto runner = backend->make_runner(network, *variables, {.batch_size = 2});
    const auto trace = std::make_shared<ChromeTrace>();
    runner->trace_to(trace);
    runner->load(random_batch(network, 2, 1));
    runner->forward();
    runner->backward();
    runner->trace_to(nullptr);
    EXPECT_EQ(trace.use_count(), 1);
    runner->forward();  // each name occurs once, as spans_in() checks
    const auto spans = spans_in(trace->json());
    Span before = {};
    for (const NetworkNode& node : network.nodes()) {
      const Span span = spans.at("forward: " + node.name);
      EXPECT_LE(before.end, span.begin + 1e-3);
      before = span;
    }
    for (NodeId node = network.nodes().size() - 1; node-- > 0;) {
      if (!network.needed_gradients()[node]) continue;
      const Span span = spans.at("backward: " + network.nodes()[node].name);
      EXPECT_LE(before.end, span.begin + 1e-3);
      before = span;
    }
  }
}

}  // namespace
}  // namespace recordpipe
