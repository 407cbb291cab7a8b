// Tests training sessions: the order of calls, stopped and resumed runs, failing steps.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <limits>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/trainer/session/nan_hook.h"
#include "recordpipe/trainer/session/stop_at_step_hook.h"
#include "recordpipe/trainer/session/training_session.h"
#include "tests/support/expect_error.h"
#include "tests/support/faulty_file_system.h"
#include "tests/trainer/session/test_run.h"

namespace recordpipe {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// Returns a hook that fails after the `at`-th step, the first `times` times that the step is made.
FunctionHook failing(uint64_t at, int times, ErrorKind kind = ErrorKind::io) {
  FunctionHook hook;
  hook.on_after = [=](TrainingSession&, const RunValues& values) mutable {
    if (values.result.step != at || times-- <= 0) return;
    throw Error({.kind = kind, .reason = "the disk is tired"});
  };
  return hook;
}

// Returns a batch whose loss is NaN.
ImageBatch bad_batch(const ImageBatch& good) {
  ImageBatch batch;
  batch.reset(good.format(), good.size());
  for (size_t row = 0; row < batch.size(); ++row) {
    float* values = reinterpret_cast<float*>(batch.image_at(row));
    std::fill_n(values, batch.format().values_per_image(), std::numeric_limits<float>::quiet_NaN());
    batch.set_label(row, 0);
  }
  return batch;
}

// Returns a hook that feeds a bad batch to the `at`-th step.
FunctionHook bad_at(uint64_t at, std::vector<double>* losses = nullptr) {
  FunctionHook hook;
  auto bad = std::make_shared<ImageBatch>();
  hook.on_before = [=](TrainingSession&, RunContext& context) {
    if (context.step + 1 == at) context.feed = bad.get();
  };
  hook.on_after = [=](TrainingSession&, const RunValues& values) {
    *bad = bad_batch(values.batch);
    if (losses) losses->push_back(values.result.batch.loss);
  };
  return hook;
}

TEST(TrainingSession, CallsItsHooksInOrder) {
  TestRun run;
  std::vector<std::string> calls;
  const auto recorder = [&](const std::string& name) {
    FunctionHook hook;
    const auto call = [&calls, name](const std::string& what) { calls.push_back(name + what); };
    hook.on_begin = [=] { call(" begins"); };
    hook.on_created = [=](TrainingSession& session) {
      call(" created at " + std::to_string(session.step()));
    };
    hook.on_before = [=](TrainingSession&, RunContext& context) {
      call(" before " + std::to_string(context.step));
    };
    hook.on_after = [=](TrainingSession& session, const RunValues& values) {
      EXPECT_EQ(session.step(), values.result.step);
      EXPECT_EQ(values.batch.size(), 4u);
      call(" after " + std::to_string(values.result.step));
    };
    hook.on_end = [=](TrainingSession& session) {
      call(" ends at " + std::to_string(session.step()));
    };
    return hook;
  };
  Hooks both = hooks(recorder("a"));
  both.push_back(std::make_unique<FunctionHook>(recorder("b")));
  run.run(2, std::move(both));
  EXPECT_THAT(calls, ElementsAre("a begins", "b begins", "a created at 0", "b created at 0",
                                 "a before 0", "b before 0", "a after 1", "b after 1",  //
                                 "a before 1", "b before 1", "a after 2", "b after 2",  //
                                 "a ends at 2", "b ends at 2"));

  calls.clear();
  run.run(3, hooks(recorder("c")));
  EXPECT_THAT(calls,
              ElementsAre("c begins", "c created at 2", "c before 2", "c after 3", "c ends at 3"));
}

// slim's init_fn, for example for pre-trained weights: a hook before the saver sets values in a new
// run, and leaves a resumed one alone.
TEST(TrainingSession, TrainsFromValuesThatAHookHasSet) {
  TestRun run;
  run.learning_rate = 0;
  const auto weights_after = [&run](uint64_t last_step, float value) {
    std::vector<float> weights;
    FunctionHook init;
    init.on_created = [=](TrainingSession& session) {
      Variables& variables = session.trainer().variables();
      if (!session.restored_step())
        variables.write(0, std::vector<float>(variables.specs()[0].size(), value));
    };
    init.on_end = [&](TrainingSession& session) {
      weights = session.trainer().variables().read(0);
    };
    run.run(last_step, hooks(init));
    return weights;
  };
  EXPECT_THAT(weights_after(1, 3), testing::Each(3));
  EXPECT_THAT(weights_after(2, 4), testing::Each(3));
}

TEST(TrainingSession, CallsEveryEndAndThrowsTheFirstError) {
  TestRun run;
  Hooks list;
  std::vector<std::string> ended;
  for (const char* name : {"first", "second", "third"}) {
    FunctionHook hook;
    hook.on_end = [&ended, name](TrainingSession&) {
      ended.push_back(name);
      if (ended.size() < 3) throw Error({.reason = name});
    };
    list.push_back(std::make_unique<FunctionHook>(hook));
  }
  EXPECT_EQ(error_of([&] { run.run(2, std::move(list)); }).reason(), "first");
  EXPECT_THAT(ended, ElementsAre("first", "second", "third"));
}

TEST(TrainingSession, CallsNoEndWhereAHookThrows) {
  TestRun run;
  FunctionHook hook;
  bool ended = false;
  hook.on_after = [](TrainingSession&, const RunValues&) { throw std::runtime_error("mine"); };
  hook.on_end = [&](TrainingSession&) { ended = true; };
  EXPECT_THROW(run.run(3, hooks(hook)), std::runtime_error);
  EXPECT_FALSE(ended);
}

// Compares everything in a checkpoint: values, momenta, statistics, averages and the input
// position.
TEST(TrainingSession, GoesOnAsIfItHadNeverStopped) {
  constexpr uint64_t last = 13;  // more than two passes over the data
  TestRun unbroken;
  unbroken.run(last);
  for (uint64_t stopped_at = 0; stopped_at <= last; ++stopped_at) {
    TestRun broken;
    broken.run(stopped_at);
    broken.run(last);
    EXPECT_EQ(broken.steps(), unbroken.steps());
    for (uint64_t step = 0; step <= last; ++step)
      ASSERT_EQ(broken.content(step), unbroken.content(step)) << stopped_at << ", " << step;
  }
  TestRun often;
  for (uint64_t step = 1; step <= last; ++step) often.run(step);
  EXPECT_EQ(often.content(last), unbroken.content(last));
}

TEST(TrainingSession, SaysFromWhereItGoesOn) {
  TestRun run;
  run.settings = {{"batch_size", "4"}, {"learning_rate", "0.05\x1b[31m\n"}, {"layers", "8"}};
  run.run(2);
  EXPECT_THAT(run.notes, IsEmpty());
  run.settings = {{"batch_size", "4"}, {"learning_rate", "0.1"}, {"clip", "1"}};
  run.learning_rate = 0.1;
  run.run(3);
  EXPECT_THAT(run.notes, ElementsAre("resumed from " + run.path(2) + " at step 2",
                                     "learning_rate was 0.05\\x1b[31m\\x0a and is now 0.1"));
}

TEST(TrainingSession, StartsTheDataAnewForAnotherBatchSize) {
  TestRun run, again;
  for (TestRun* each : {&run, &again}) {
    each->run(3);
    each->batch_size = 5;
    each->run(each == &run ? 9 : 6);
    EXPECT_THAT(each->notes, Contains(StartsWith("the input starts over")));
  }
  again.run(9);
  EXPECT_THAT(again.notes, ElementsAre(StartsWith("resumed from")));
  EXPECT_EQ(again.content(9), run.content(9));
  const TrainingState state = read_training_state(posix_file_system(), run.path(9));
  EXPECT_EQ(state.seed, 7u);
  EXPECT_NE(state.data_seed, 7u) << "not the distortions of earlier steps";
}

TEST(TrainingSession, StartsTheDataAnewForAnotherSeed) {
  TestRun run, again;
  for (TestRun* each : {&run, &again}) {
    each->run(3);
    each->seed = 8;
    each->run(each == &run ? 9 : 6);
    EXPECT_THAT(each->notes, Contains(AllOf(StartsWith("the input starts over"),
                                            HasSubstr("the seed has changed"))));
  }
  again.run(9);
  EXPECT_THAT(again.notes, ElementsAre(StartsWith("resumed from")));
  EXPECT_EQ(again.content(9), run.content(9));
}

TEST(TrainingSession, DependsOnItsSeed) {
  TestRun run, other;
  other.seed = 8;
  run.run(0);
  other.run(0);
  EXPECT_NE(run.content(0), other.content(0));
}

TEST(TrainingSession, EndsByALossThatIsNoNumber) {
  for (const bool with_hook : {false, true}) {
    TestRun run;
    std::vector<double> losses;
    Hooks list = hooks(bad_at(3, &losses));
    if (with_hook) list.push_back(std::make_unique<NanHook>(NanPolicy::fail));
    // Step 3 is the last: reaching the last step must not hide the error.
    EXPECT_THROW(run.run(3, std::move(list)), NotFiniteError);
    ASSERT_EQ(losses.size(), 3u);
    EXPECT_TRUE(std::isnan(losses.back())) << "after_run sees it";
    EXPECT_THAT(run.steps(), ElementsAre(2, 1, 0));
  }
}

TEST(TrainingSession, EndsAsAskedByNanHook) {
  TestRun run, before;
  run.save_every = before.save_every = 100;
  Hooks list = hooks(bad_at(3));
  list.push_back(std::make_unique<NanHook>(NanPolicy::stop));
  run.run(9, std::move(list));
  EXPECT_THAT(run.notes, ElementsAre(HasSubstr("the loss is not finite at step 3")));
  EXPECT_THAT(run.steps(), ElementsAre(2, 0));
  before.run(2);
  EXPECT_EQ(run.content(2), before.content(2)) << "the weights before";
}

TEST(TrainingSession, NanHookNamesTheGradientThatIsNotFinite) {
  TestRun run;
  run.gradient_multipliers = {{"dense/weights", 1e300}};
  run.run(9, hooks(NanHook(NanPolicy::stop)));
  EXPECT_THAT(run.notes,
              ElementsAre(HasSubstr("the gradient of dense/weights is not finite at step 1")));
  EXPECT_THAT(run.steps(), ElementsAre(0));
}

// The batch of a hook replaces the pipeline's, which comes with the next step.
TEST(TrainingSession, TrainsOnWhatAHookFeeds) {
  TestRun run, plain;
  ImageBatch mine;
  mine.reset({.height = 4, .width = 4, .channels = 3, .layout = Layout::nchw}, 4);
  for (size_t row = 0; row < 4; ++row) {
    std::fill_n(reinterpret_cast<float*>(mine.image_at(row)), 48, static_cast<float>(row));
    mine.set_label(row, 2);
  }
  std::vector<std::vector<int32_t>> labels, plain_labels;
  const auto record = [](std::vector<std::vector<int32_t>>& to) {
    FunctionHook hook;
    hook.on_after = [&to](TrainingSession&, const RunValues& values) {
      to.emplace_back(values.batch.labels().begin(), values.batch.labels().end());
    };
    return hook;
  };
  plain.run(3, hooks(record(plain_labels)));
  FunctionHook feeding = record(labels);
  feeding.on_before = [&](TrainingSession&, RunContext& context) {
    if (context.step == 1) context.feed = &mine;
  };
  run.run(3, hooks(feeding));
  EXPECT_THAT(labels, ElementsAre(plain_labels[0], ElementsAre(2, 2, 2, 2), plain_labels[1]));
}

TEST(TrainingSession, TriesAStepAgainThatAHookHasFailed) {
  TestRun whole;
  whole.run(9);
  // Step 9 is the last: the stopping hook has already been called, or not yet.
  for (const uint64_t at : {1, 5, 9})
    for (const bool first : {true, false}) {
      TestRun run;
      run.save_every = 4;
      if (first) {
        run.run(9, hooks(failing(at, 1)));
      } else {
        run.more_hooks = [&](CheckpointFolder&) { return hooks(failing(at, 1)); };
        run.run(9);
      }
      const std::string note = "step " + std::to_string(at) + " failed: the disk is tired";
      EXPECT_THAT(run.notes, Contains(HasSubstr(note)));
      EXPECT_EQ(run.content(9), whole.content(9)) << at;
    }
}

// A process can't use a GPU again after its failure, although its kind is that of a disk's.
TEST(TrainingSession, DoesNotTryAgainAfterTheFailureOfADevice) {
  TestRun run;
  int failures = 0;
  FunctionHook hook;
  hook.on_after = [&](TrainingSession&, const RunValues& values) {
    if (values.result.step < 3) return;
    ++failures;
    throw DeviceError({.kind = ErrorKind::io, .reason = "the GPU is gone"});
  };
  EXPECT_THAT(error_of([&] { run.run(5, hooks(hook)); }).what(), HasSubstr("the GPU is gone"));
  EXPECT_EQ(failures, 1);
}

// The run stops although the hook requests the stop only once.
TEST(TrainingSession, StopsWhereItWasAskedToInAStepThatFailed) {
  for (const uint64_t save_every : {1, 3}) {
    TestRun run;
    run.save_every = save_every;
    FunctionHook asking;
    asking.on_after = [asked = false](TrainingSession& session, const RunValues& values) mutable {
      if (values.result.step == 5 && !std::exchange(asked, true)) session.request_stop();
    };
    Hooks list = hooks(asking);
    // The step fails before it is saved (save_every = 3) or after (save_every = 1).
    if (save_every == 3) list.push_back(std::make_unique<FunctionHook>(failing(5, 1)));
    if (save_every == 1) run.more_hooks = [](CheckpointFolder&) { return hooks(failing(5, 1)); };
    run.run(9, std::move(list));
    EXPECT_EQ(run.steps().front(), 5u);
    EXPECT_THAT(run.notes, Contains(HasSubstr("failed: the disk is tired")));
  }
}

TEST(TrainingSession, TriesAStepAgainThatThePipelineHasFailed) {
  TestRun whole, run;
  whole.run(12);
  std::atomic<int> images = 0;
  run.save_every = 5;
  // With more threads, the 30th image to be computed may be one that no step needs.
  run.options.threads = 1;
  run.on_image = [&] {
    if (++images == 30) throw Error({.kind = ErrorKind::network, .reason = "the line is cut"});
  };
  run.run(12);
  EXPECT_THAT(run.notes, Contains(HasSubstr("the line is cut")));
  EXPECT_THAT(run.notes, Contains(StartsWith("resumed from")));
  EXPECT_EQ(run.content(12), whole.content(12));
}

// The step fails long after the checkpoint: repeating the steps in between doesn't count as a
// success.
TEST(TrainingSession, GivesUpWhatAlwaysFails) {
  TestRun run;
  run.save_every = 3;
  run.recoveries = 2;
  const Error error = error_of([&] { run.run(9, hooks(failing(6, 1000))); });
  EXPECT_EQ(error.reason(), "the disk is tired");
  EXPECT_EQ(std::ranges::count_if(
                run.notes, [](const std::string& note) { return note.starts_with("resumed"); }),
            2);
  EXPECT_THAT(run.steps(), ElementsAre(3, 0));

  TestRun other;
  other.recoveries = 2;
  Hooks list;
  for (const uint64_t at : {2, 3, 4, 5})
    list.push_back(std::make_unique<FunctionHook>(failing(at, 2)));
  other.run(6, std::move(list));  // each step may be retried as often

  // A step that is saved before it fails isn't a success: the count goes on.
  TestRun saved;
  saved.recoveries = 2;
  FunctionHook failing_always;
  failing_always.on_after = [](TrainingSession&, const RunValues&) {
    throw Error({.kind = ErrorKind::io, .reason = "the disk is gone"});
  };
  saved.more_hooks = [&](CheckpointFolder&) { return hooks(failing_always); };
  EXPECT_EQ(error_of([&] { saved.run(9); }).reason(), "the disk is gone");
  EXPECT_EQ(saved.steps().front(), 3u);
}

TEST(TrainingSession, RestoresAgainIfRestoringFails) {
  TestRun whole, run, strict, stopped;
  whole.run(6);
  const auto failing_twice = [] {
    Hooks list;
    FunctionHook hook = failing(5, 1);
    hook.on_created = [calls = 0](TrainingSession&) mutable {
      if (++calls == 2) throw Error({.kind = ErrorKind::network, .reason = "the line is cut"});
    };
    list.push_back(std::make_unique<FunctionHook>(std::move(hook)));
    return list;
  };
  run.save_every = 3;
  run.run(6, failing_twice());
  EXPECT_THAT(run.notes, Contains(HasSubstr("step 5 failed: the disk is tired")));
  EXPECT_THAT(run.notes, Contains(HasSubstr("restoring the checkpoint failed: the line is cut")));
  EXPECT_EQ(run.content(6), whole.content(6));

  strict.save_every = 3;
  strict.recoveries = 1;
  EXPECT_EQ(error_of([&] { strict.run(6, failing_twice()); }).kind(), ErrorKind::network)
      << "a failure to restore counts";

  // A stop that is requested while the checkpoint is restored doesn't end the run before that.
  stopped.save_every = 3;
  FunctionHook asking;
  asking.on_created = [calls = 0](TrainingSession& session) mutable {
    if (++calls == 2) session.request_stop();
  };
  Hooks list = hooks(asking);
  for (auto& hook : failing_twice()) list.push_back(std::move(hook));
  stopped.run(9, std::move(list));
  EXPECT_THAT(stopped.steps(), ElementsAre(3, 0));
  EXPECT_EQ(stopped.content(3), whole.content(3));
}

// As long as a share of the network is gone, listing the job folder fails, too.
TEST(TrainingSession, TriesAgainIfTheFolderIsOutOfReach) {
  TestRun whole, run;
  whole.run(6);
  FaultyFileSystem files(posix_file_system());
  run.files = &files;
  FunctionHook hook;
  hook.on_after = [&, failures = 0](TrainingSession&, const RunValues& values) mutable {
    if (values.result.step != 3 || ++failures > 1) return;
    files.fail_call(files.calls() + 1, FaultyFileSystem::Fault::error, EIO);
    throw Error({.kind = ErrorKind::io, .reason = "the share is gone"});
  };
  run.run(6, hooks(hook));
  EXPECT_THAT(run.notes, Contains(HasSubstr("step 3 failed: the share is gone")));
  EXPECT_THAT(run.notes, Contains(HasSubstr("restoring the checkpoint failed: ")));
  EXPECT_EQ(run.content(6), whole.content(6));
}

TEST(TrainingSession, DoesNotBeginAnewWhereTheCheckpointsAreGone) {
  TestRun run;
  FunctionHook hook = failing(3, 1);
  hook.on_before = [&](TrainingSession&, RunContext& context) {
    if (context.step != 2) return;
    for (const uint64_t step : run.steps()) std::filesystem::remove(run.path(step));
  };
  const Error error = error_of([&] { run.run(6, hooks(hook)); });
  EXPECT_EQ(error.reason(), "the checkpoints are gone");
  EXPECT_EQ(error.path(), run.job_dir);
}

TEST(TrainingSession, TriesNothingElseAgain) {
  TestRun run;
  EXPECT_EQ(error_of([&] { run.run(9, hooks(failing(2, 1, ErrorKind::corrupted))); }).kind(),
            ErrorKind::corrupted);
  EXPECT_THAT(run.notes, IsEmpty());
  TestRun without;
  without.save_every = 0;
  EXPECT_EQ(error_of([&] { without.run(9, hooks(failing(2, 1))); }).kind(), ErrorKind::io)
      << "there is no checkpoint to go back to";
}

TEST(TrainingSession, FallsBackFromADamagedCheckpoint) {
  TestRun whole, run;
  whole.run(6);
  run.run(4);
  std::filesystem::resize_file(run.path(4), 500);
  run.run(6);
  EXPECT_THAT(run.notes, ElementsAre(AllOf(StartsWith("skipped: "), HasSubstr(run.path(4))),
                                     "resumed from " + run.path(3) + " at step 3"));
  for (const uint64_t step : {4, 5, 6}) EXPECT_EQ(run.content(step), whole.content(step));
}

}  // namespace
}  // namespace recordpipe
