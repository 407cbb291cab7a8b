#include "recordpipe/trainer/session/eval_hook.h"

#include <cerrno>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/trainer/session/checkpoint_saver_hook.h"
#include "tests/support/faulty_file_system.h"
#include "tests/trainer/session/test_run.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

struct Evaluations {
  std::map<uint64_t, size_t> correct;  // of 8, by step
  std::vector<std::pair<uint64_t, bool>> seen = {};

  void add_to(TestRun& run, uint64_t every, bool at_end = true) {
    run.more_hooks = [this, every, at_end](CheckpointFolder& folder) {
      Hooks list;
      FunctionHook now;
      now.on_after = [this](TrainingSession& session, const RunValues&) { step = session.step(); };
      list.push_back(std::make_unique<FunctionHook>(now));
      EvalOptions mine = {.every = {.steps = every}, .at_end = at_end, .evaluate = [this] {
                            return BatchResult{.loss = 1, .correct = correct.at(step), .images = 8};
                          }};
      mine.listener = [this](uint64_t at, const BatchResult& result, bool best) {
        EXPECT_EQ(at, step);
        EXPECT_EQ(result.correct, correct.at(at));
        seen.emplace_back(at, best);
      };
      list.push_back(std::make_unique<EvalHook>(folder, mine));
      return list;
    };
  }
  uint64_t step = 0;
};

// Saves after each run's evaluations, as the programs do, so that checkpoints have the accuracy.
void save_after_evaluations(TestRun& run) {
  run.save_every = 0;
  run.more_hooks = [evaluations = run.more_hooks](CheckpointFolder& folder) {
    Hooks list = evaluations(folder);
    list.push_back(std::make_unique<CheckpointSaverHook>(
        folder, CheckpointSaverOptions{.every = {.steps = 100}}));
    return list;
  };
}

TEST(EvalHook, KeepsTheBestOfAllRuns) {
  TestRun run;
  Evaluations evaluations = {.correct = {{2, 3}, {4, 5}, {5, 5}, {6, 4}, {8, 6}, {10, 1}}};
  evaluations.add_to(run, 2);
  const std::string best = run.job_dir + "/best.safetensors";
  run.run(5);
  EXPECT_THAT(evaluations.seen, ElementsAre(Pair(2, true), Pair(4, true), Pair(5, false)));
  TrainingState state = read_training_state(posix_file_system(), best);
  EXPECT_EQ(state.step, 4u);
  EXPECT_EQ(state.validation_accuracy, 0.625);

  evaluations.seen.clear();
  run.run(10);
  EXPECT_THAT(evaluations.seen, ElementsAre(Pair(6, false), Pair(8, true), Pair(10, false)));
  state = read_training_state(posix_file_system(), best);
  EXPECT_EQ(state.step, 8u);
  EXPECT_EQ(state.validation_accuracy, 0.75);
}

// Each run makes fewer steps than there are between two evaluations.
TEST(EvalHook, EvaluatesARunThatIsResumedOften) {
  TestRun run;
  Evaluations evaluations = {.correct = {{5, 3}, {10, 4}}};
  evaluations.add_to(run, 5, false);
  save_after_evaluations(run);
  for (const uint64_t last : {2, 4, 6, 8, 10, 12}) run.run(last);
  EXPECT_THAT(evaluations.seen, ElementsAre(Pair(5, true), Pair(10, true)));
}

// A signal ends the evaluations at step 3 and at the last step. The next run repeats them, but not
// those that were complete.
TEST(EvalHook, RepeatsAnInterruptedEvaluation) {
  TestRun run;
  bool interrupted = true;
  std::vector<uint64_t> seen;
  run.more_hooks = [&](CheckpointFolder& folder) {
    EvalOptions options = {.every = {.steps = 3}, .evaluate = [&]() -> BatchResult {
                             if (interrupted)
                               throw Error({.kind = ErrorKind::cancelled, .reason = "a signal"});
                             return {.loss = 1, .correct = 5, .images = 8};
                           }};
    options.listener = [&](uint64_t step, const BatchResult&, bool) { seen.push_back(step); };
    return hooks(EvalHook(folder, options));
  };
  save_after_evaluations(run);
  run.run(5);
  EXPECT_THAT(run.steps(), ElementsAre(3, 0));
  EXPECT_THAT(seen, testing::IsEmpty());
  interrupted = false;
  run.run(4);
  EXPECT_THAT(seen, ElementsAre(3, 4));
  interrupted = true;
  run.run(5);
  interrupted = false;
  for (const bool first : {true, false}) {
    seen.clear();
    run.run(5);
    EXPECT_THAT(seen, testing::SizeIs(first ? 1 : 0)) << "nothing is left to train";
    EXPECT_EQ(read_training_state(posix_file_system(), run.path(5)).validation_accuracy, 0.625);
  }
}

// A NaN loss can't be compared with later results, so its evaluation must not become the best.
TEST(EvalHook, TakesNoLossThatIsNoNumberForTheBest) {
  TestRun run;
  std::vector<bool> seen;
  run.more_hooks = [&](CheckpointFolder& folder) {
    EvalOptions options = {.every = {.steps = 1}, .evaluate = [&] {
                             return BatchResult{.loss = seen.empty() ? std::nan("") : 1,
                                                .correct = seen.empty() ? 5u : 1u,
                                                .images = 8};
                           }};
    options.listener = [&](uint64_t, const BatchResult&, bool best) { seen.push_back(best); };
    return hooks(EvalHook(folder, options));
  };
  run.run(2);
  EXPECT_THAT(seen, ElementsAre(false, true));
  EXPECT_EQ(read_training_state(posix_file_system(), run.job_dir + "/best.safetensors").step, 2u);
}

TEST(EvalHook, LeavesOutTheEndIfToldSo) {
  TestRun run;
  Evaluations evaluations = {.correct = {{2, 3}}};
  evaluations.add_to(run, 2, false);
  run.run(3);
  EXPECT_THAT(evaluations.seen, ElementsAre(Pair(2, true)));
}

// As after a signal during an evaluation, the variables trained so far are saved.
TEST(EvalHook, EndsTheRunWhereItIsCancelled) {
  TestRun run;
  run.save_every = 100;
  run.more_hooks = [](CheckpointFolder& folder) {
    return hooks(EvalHook(folder, {.every = {.steps = 2}, .evaluate = []() -> BatchResult {
                                     throw Error({.kind = ErrorKind::cancelled,
                                                  .reason = "the evaluation was interrupted"});
                                   }}));
  };
  run.run(10);
  EXPECT_THAT(run.steps(), ElementsAre(2, 0));
}

// The evaluation fails during the run and at the end, before the saving hook is called.
TEST(EvalHook, LosesNoTrainingWhereItFails) {
  TestRun run;
  run.save_every = 0;
  run.more_hooks = [](CheckpointFolder& folder) {
    Hooks list = hooks(EvalHook(folder, {.every = {.steps = 3}, .evaluate = []() -> BatchResult {
                                           throw Error({.kind = ErrorKind::not_found,
                                                        .reason = "no such validation"});
                                         }}));
    list.push_back(std::make_unique<CheckpointSaverHook>(
        folder, CheckpointSaverOptions{.every = {.steps = 100}}));
    return list;
  };
  run.run(5);
  EXPECT_THAT(run.steps(), ElementsAre(5, 0));
  EXPECT_THAT(run.notes, ElementsAre("not evaluated: no such validation",
                                     "not evaluated: no such validation"));
}

// Later results needn't exceed a best result whose checkpoint could not be saved.
TEST(EvalHook, TakesTheNextBestWhereTheDiskWasFull) {
  bool noted = false;
  for (uint64_t call = 1; !noted; ++call) {
    ASSERT_LT(call, 50u);
    FaultyFileSystem faulty(posix_file_system());
    faulty.fail_call(call, FaultyFileSystem::Fault::error, ENOSPC);
    TestRun run;
    run.save_every = 0;
    run.files = &faulty;
    Evaluations evaluations = {.correct = {{1, 6}, {2, 5}, {3, 4}}};
    evaluations.add_to(run, 1);
    try {
      run.run(3);
    } catch (const Error& error) {
      continue;  // before the first step
    }
    if (run.notes.empty()) continue;
    noted = true;
    EXPECT_THAT(run.notes, ElementsAre(HasSubstr("the best checkpoint was not saved")));
    EXPECT_THAT(evaluations.seen, ElementsAre(Pair(1, false), Pair(2, true), Pair(3, false)));
    EXPECT_EQ(read_training_state(posix_file_system(), run.job_dir + "/best.safetensors").step, 2u);
  }
}

}  // namespace
}  // namespace recordpipe
