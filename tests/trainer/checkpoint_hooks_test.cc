// What the hooks of a session do that write checkpoints.
#include <cerrno>
#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/faulty_file_system.h"
#include "tests/trainer/test_run.h"
#include "trainer/session/checkpoint_saver_hook.h"
#include "trainer/session/eval_hook.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

struct Saved {
  std::vector<uint64_t> steps = {};
  CheckpointSaverOptions options(uint64_t every) {
    return {.every = {.steps = every},
            .listeners = {[this](const std::string& path, uint64_t step) {
              EXPECT_THAT(path, HasSubstr("checkpoint-" + std::to_string(step) + ".safetensors"));
              steps.push_back(step);
            }}};
  }
};

TEST(CheckpointSaverHook, SavesAtTheStartWhenItIsDueAndAtTheEnd) {
  TestRun run;
  Saved saved;
  run.save_every = 0;
  run.more_hooks = [&](CheckpointFolder& folder) {
    return hooks(CheckpointSaverHook(folder, saved.options(3)));
  };
  run.run(7);
  EXPECT_THAT(saved.steps, ElementsAre(0, 3, 6, 7));
  EXPECT_THAT(run.steps(), ElementsAre(7, 6, 3, 0));
  saved.steps.clear();
  run.run(10);
  EXPECT_THAT(saved.steps, ElementsAre(10)) << "neither what was restored, nor the end twice";
}

TEST(CheckpointSaverHook, KeepsTheNewest) {
  TestRun run;
  run.keep = 2;
  run.run(5);
  EXPECT_THAT(run.steps(), ElementsAre(5, 4));
}

// Each call to the file system fails once, for want of space.
TEST(CheckpointSaverHook, OutlivesAFullDiskButNotAtTheEnd) {
  TestRun whole;
  whole.save_every = 2;
  whole.run(5);
  bool noted = false, thrown = false, through = false;
  for (uint64_t call = 8; !through; ++call) {
    FaultyFileSystem faulty(posix_file_system());
    faulty.fail_call(call, FaultyFileSystem::Fault::error, ENOSPC);
    TestRun run;
    run.save_every = 2;
    run.files = &faulty;
    try {
      run.run(5);
      through = faulty.failed_call().empty();
      if (!run.notes.empty()) {
        noted = true;
        EXPECT_THAT(run.notes, ElementsAre(HasSubstr("no checkpoint at step ")));
      }
      EXPECT_EQ(run.content(5), whole.content(5)) << faulty.failed_call();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::no_space) << error.what();
      thrown = true;
      if (!run.steps().empty() && run.steps().front() >= 4) {
        run.files = &posix_file_system();
        run.run(5);
        EXPECT_EQ(run.content(5), whole.content(5)) << "can be resumed";
      }
    }
  }
  EXPECT_TRUE(noted);
  EXPECT_TRUE(thrown);
}

// Whatever the error is: a folder in the place of the file is one that no waiting helps.
TEST(CheckpointSaverHook, OutlivesACheckpointThatCannotBeWritten) {
  TestRun run;
  run.save_every = 2;
  std::filesystem::create_directories(run.path(4));
  run.run(5);
  EXPECT_THAT(run.steps(), testing::IsSupersetOf({5, 2, 0}));
  EXPECT_THAT(run.notes, ElementsAre(testing::StartsWith("no checkpoint at step 4")));
}

TEST(CheckpointSaverHook, MakesAFolderAgainThatWasRemoved) {
  TestRun run;
  run.save_every = 2;
  FunctionHook remover;
  remover.on_after = [&](TrainingSession&, const RunValues& values) {
    if (values.result.step == 3) std::filesystem::remove_all(run.job_dir);
  };
  run.run(5, hooks(remover));
  EXPECT_THAT(run.steps(), ElementsAre(5, 4));
  EXPECT_THAT(run.notes, testing::IsEmpty());
}

TEST(CheckpointSaverHook, IsNotOutlivedWhereItFailsAtTheStart) {
  TestRun run;
  std::filesystem::create_directories(run.path(0));
  EXPECT_EQ(error_of([&] { run.run(5); }).kind(), ErrorKind::invalid_argument);
}

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

TEST(EvalHook, KeepsTheBestOfAllRuns) {
  TestRun run;
  Evaluations evaluations = {.correct = {{2, 3}, {4, 5}, {5, 5}, {7, 4}, {9, 6}, {10, 1}}};
  evaluations.add_to(run, 2);
  const std::string best = run.job_dir + "/best.safetensors";
  run.run(5);
  EXPECT_THAT(evaluations.seen, ElementsAre(Pair(2, true), Pair(4, true), Pair(5, false)));
  TrainingState state = read_training_state(posix_file_system(), best);
  EXPECT_EQ(state.step, 4u);
  EXPECT_EQ(state.validation_accuracy, 0.625);

  evaluations.seen.clear();
  run.run(10);
  EXPECT_THAT(evaluations.seen, ElementsAre(Pair(7, false), Pair(9, true), Pair(10, false)));
  state = read_training_state(posix_file_system(), best);
  EXPECT_EQ(state.step, 9u);
  EXPECT_EQ(state.validation_accuracy, 0.75);
}

TEST(EvalHook, LeavesOutTheEndIfToldSo) {
  TestRun run;
  Evaluations evaluations = {.correct = {{2, 3}}};
  evaluations.add_to(run, 2, false);
  run.run(3);
  EXPECT_THAT(evaluations.seen, ElementsAre(Pair(2, true)));
}

// As where a signal comes during an evaluation: what was learned before it is saved.
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

// In the middle and at the end: the hook that saves comes after it.
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

// A best one that could not be saved is not the one to beat.
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
    EXPECT_EQ(read_training_state(posix_file_system(), run.job_dir + "/best.safetensors").step, 2u);
  }
}

}  // namespace
}  // namespace recordpipe
