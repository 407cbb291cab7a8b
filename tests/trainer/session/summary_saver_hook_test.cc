#include "recordpipe/trainer/session/summary_saver_hook.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/image/encode_png.h"
#include "recordpipe/trainer/backend/replicated/replicated_backend.h"
#include "recordpipe/trainer/summary/histogram.h"
#include "recordpipe/trainer/summary/image_summary.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"
#include "tests/support/faulty_file_system.h"
#include "tests/trainer/session/test_session.h"
#include "tests/trainer/summary/event_files.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;

std::vector<double> counts_of(const proto::Summary::Value& value) {
  return {value.histo().bucket().begin(), value.histo().bucket().end()};
}

struct SummarySession : TestSession {
  const std::string events_folder = folder / "events";

  // Trains to `last_step`. `before` is called after each step, before the summary hook.
  void run_with(uint64_t last_step, const SummarySaverOptions& options, AfterRun::Function before,
                FileSystem& file_system = posix_file_system()) {
    EventWriter events(file_system, events_folder);
    std::vector<std::unique_ptr<SessionHook>> hooks;
    hooks.push_back(std::make_unique<AfterRun>(std::move(before)));
    hooks.push_back(std::make_unique<SummarySaverHook>(events, network, options));
    run(last_step, std::move(hooks));
  }
};

TEST(SummarySaverHook, WritesWhenItIsDueBetweenStartAndStop) {
  SummarySession session;
  session.run_with(25, {.every = {.steps = 10}}, [](auto&, auto&) {});
  EXPECT_THAT(summary_steps_in(session.events_folder), ElementsAre(1, 11, 21));
  const auto events = events_in(session.events_folder);
  EXPECT_EQ(events[1].session_log().status(), proto::SessionLog::START);
  EXPECT_EQ(events[1].step(), 1);
  EXPECT_EQ(events.back().session_log().status(), proto::SessionLog::STOP);
  EXPECT_EQ(events.back().step(), 25);
  EXPECT_THAT(session.notes, ElementsAre());
}

TEST(SummarySaverHook, SummarizesWhatTheTutorialsDo) {
  SummarySession session;
  std::map<std::string, double> scalars;
  std::map<std::string, Histogram> histograms;
  std::vector<std::vector<std::byte>> images;
  double average = 0;
  session.run_with(12, {.every = {.steps = 11}}, [&](TrainingSession& of, const RunValues& values) {
    const BatchResult& batch = values.result.batch;
    average = values.result.step == 1 ? batch.loss : 0.9 * average + 0.1 * batch.loss;
    if (values.result.step != 12) return;
    scalars = {{"loss", batch.loss},
               {"loss (avg)", average},
               {"total_loss", of.trainer().total_loss(batch)},
               {"learning_rate", 0.05},
               {"accuracy", static_cast<double>(batch.correct) / 8}};
    const Variables& variables = of.trainer().variables();
    for (VariableId id = 0; id < variables.specs().size(); ++id) {
      const VariableSpec& spec = variables.specs()[id];
      histograms[spec.name] = make_histogram(variables.read(id));
      if (spec.trained)
        histograms[spec.name + "/gradients"] = make_histogram(variables.read(id, Slot::gradient));
    }
    for (const NodeId node : {NodeId{2}, session.network.nodes().size() - 4}) {
      const std::vector<float> output = of.trainer().runner().output(node);
      scalars[session.network.nodes()[node].name + "/sparsity"] =
          static_cast<double>(std::ranges::count(output, 0.0f)) /
          static_cast<double>(output.size());
    }
    for (size_t row = 0; row < 3; ++row)
      images.push_back(encode_png(summary_pixels(values.batch, row), 8, 8, 3));
  });

  const auto events = events_in(session.events_folder);
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(events[3].step(), 12);
  const auto values = values_of(events[3]);
  for (const auto& [tag, scalar] : scalars)
    EXPECT_FLOAT_EQ(values.at(tag).simple_value(), static_cast<float>(scalar)) << tag;
  for (const auto& [tag, histogram] : histograms) {
    EXPECT_EQ(counts_of(values.at(tag)), histogram.counts) << tag;
    EXPECT_EQ(values.at(tag).histo().sum(), histogram.sum) << tag;
  }
  for (size_t row = 0; row < 3; ++row) {
    const std::string& png =
        values.at("input/image/" + std::to_string(row)).image().encoded_image_string();
    EXPECT_EQ(as_text(images[row]), png);
  }
  // There is a sparsity for each ReLU, and no unexpected value.
  size_t sparsities = 0;
  for (const auto& [tag, value] : values)
    if (tag.ends_with("/sparsity")) {
      ++sparsities;
      EXPECT_GT(value.simple_value(), 0) << tag;
      EXPECT_LT(value.simple_value(), 1) << tag;
    }
  EXPECT_EQ(sparsities, 7u);
  EXPECT_EQ(values.size(), 5 + histograms.size() + 7 + 3);
}

// Emulates two processes with equal values.
class Twins final : public Communicator {
 public:
  size_t rank() const override { return 0; }
  size_t size() const override { return 2; }
  void all_reduce_sum(std::span<float> values) override {
    for (float& value : values) value *= 2;
  }
  void all_reduce_sum(std::span<double> values) override {
    for (double& value : values) value *= 2;
  }
  void broadcast(std::span<std::byte>) override {}
};

// A step's result counts the images of all processes, but a runner counts the zeros of its own
// process only.
TEST(SummarySaverHook, TellsTheShareOfZerosAmongTheNumbersOfItsOwnProcess) {
  std::map<std::string, double> alone;
  Twins twins;
  for (const bool distributed : {false, true}) {
    SummarySession session;
    if (distributed)
      session.backend = std::make_unique<ReplicatedBackend>(std::make_unique<CpuBackend>(), twins);
    session.run_with(1, {.variables = false, .gradients = false, .images = 0}, [](auto&, auto&) {});
    for (const auto& [tag, value] : values_of(events_in(session.events_folder)[2])) {
      if (!distributed) {
        alone[tag] = value.simple_value();
      } else if (tag.ends_with("/sparsity")) {
        EXPECT_EQ(value.simple_value(), alone.at(tag)) << tag;
      }
    }
  }
  EXPECT_EQ(alone.size(), 5u + 7u);
}

TEST(SummarySaverHook, LeavesOutWhatIsNotWanted) {
  SummarySession session;
  session.run_with(1, {.variables = false, .gradients = false, .activations = false, .images = 0},
                   [](auto&, auto&) {});
  EXPECT_EQ(values_of(events_in(session.events_folder)[2]).size(), 5u);
}

// TensorBoard must not drop the step after which the checkpoint was saved.
TEST(SummarySaverHook, StartsAtTheFirstStepThatIsMadeAgain) {
  SummarySession session;
  session.save_after = 5;
  session.run_with(8, {.every = {.steps = 1}}, [](auto&, auto&) {});
  session.run_with(7, {.every = {.steps = 1}}, [](auto&, auto&) {});
  EXPECT_EQ(posix_file_system().list(session.events_folder).size(), 2u);
  std::vector<int64_t> starts;
  for (const auto& event : events_in(session.events_folder))
    if (event.session_log().status() == proto::SessionLog::START) starts.push_back(event.step());
  EXPECT_THAT(starts, ElementsAre(1, 6));
  EXPECT_THAT(summary_steps_in(session.events_folder), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 6, 7));
}

// Whichever call fails, all steps are made and the failure is reported.
TEST(SummarySaverHook, DoesNotEndATrainingWhenTheDiskIsFull) {
  uint64_t failures = 0;
  for (uint64_t n = 1;; ++n) {
    SummarySession session;
    FaultyFileSystem files(posix_file_system());
    files.fail_call(n, FaultyFileSystem::Fault::error, ENOSPC);
    uint64_t steps = 0;
    session.run_with(
        4, {.every = {.steps = 1}, .variables = false, .gradients = false},
        [&](auto&, auto&) { ++steps; }, files);
    EXPECT_EQ(steps, 4u);
    if (files.failed_call().empty()) break;
    if (files.failed_call().starts_with("close")) continue;
    ++failures;
    ASSERT_EQ(session.notes.size(), 1u) << files.failed_call();
    EXPECT_THAT(session.notes[0], testing::HasSubstr("No space left"));
    EXPECT_GE(summary_steps_in(session.events_folder).size(), 2u);
  }
  EXPECT_GE(failures, 10u);
}

// If the loss is NaN, the summaries of weights and layers show the cause.
TEST(SummarySaverHook, ShowsALossThatIsNoNumber) {
  SummarySession session;
  session.learning_rate = 1e30;
  EXPECT_THROW(session.run_with(100, {.every = {.steps = 1}}, [](auto&, auto&) {}), Error);
  const auto events = events_in(session.events_folder);
  const auto last = values_of(events.back());
  EXPECT_FALSE(std::isfinite(last.at("loss").simple_value()));
  for (const auto& [tag, value] : last) EXPECT_FALSE(tag.ends_with("/gradients")) << tag;
}

TEST(SummarySaverHook, WantsStepsOrSeconds) {
  const TestSession session;
  EventWriter events(posix_file_system(), session.folder / "events");
  const auto make = [&] { SummarySaverHook(events, session.network, {.every = {}}); };
  EXPECT_EQ(error_of(make).kind(), ErrorKind::invalid_argument);
}

}  // namespace
}  // namespace recordpipe
