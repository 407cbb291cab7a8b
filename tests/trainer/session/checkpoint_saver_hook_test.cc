#include "recordpipe/trainer/session/checkpoint_saver_hook.h"

#include <cerrno>
#include <cmath>
#include <filesystem>
#include <functional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/faulty_file_system.h"
#include "tests/trainer/session/test_run.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

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

// Returns the hooks of a run: `first`, then one that saves.
std::function<Hooks(CheckpointFolder&)> then_save(FunctionHook first, uint64_t every) {
  return [=](CheckpointFolder& folder) {
    Hooks list = hooks(first);
    list.push_back(std::make_unique<CheckpointSaverHook>(
        folder, CheckpointSaverOptions{.every = {.steps = every}}));
    return list;
  };
}

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
  EXPECT_THAT(saved.steps, ElementsAre(10))
      << "no save of the restored step, and the end only once";
}

TEST(CheckpointSaverHook, KeepsTheNewest) {
  TestRun run;
  run.keep = 2;
  run.run(5);
  EXPECT_THAT(run.steps(), ElementsAre(5, 4));
}

// The runs differ in which file system call fails because of a full disk. They keep one checkpoint:
// there is no older one to remove.
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
    run.keep = 1;
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

// This holds for any error. Here no retry can succeed, because a folder has the file's name.
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

// Otherwise it would train on for days, and nothing of it would be saved.
TEST(CheckpointSaverHook, EndsARunWhoseFolderBelongsToAnother) {
  TestRun run;
  run.save_every = 2;
  uint64_t last = 0;
  FunctionHook remover;
  remover.on_after = [&](TrainingSession&, const RunValues& values) {
    last = values.result.step;
    if (last != 3) return;
    std::filesystem::remove_all(run.job_dir);
    CheckpointFolder other(posix_file_system(), run.job_dir);
  };
  EXPECT_EQ(error_of([&] { run.run(9, hooks(remover)); }).kind(), ErrorKind::busy);
  EXPECT_EQ(last, 4u);
}

TEST(CheckpointSaverHook, IsNotOutlivedWhereItFailsAtTheStart) {
  TestRun run;
  std::filesystem::create_directories(run.path(0));
  EXPECT_EQ(error_of([&] { run.run(5); }).kind(), ErrorKind::invalid_argument);
}

// A resumed run evaluates the checkpoint of its first step, and can't record the accuracy. A full
// disk may have space later; a folder that can't be written must be reported before a day of
// training.
TEST(CheckpointSaverHook, IsNotOutlivedWhereAnAccuracyFailsAtTheStart) {
  for (const int code : {ENOSPC, EACCES}) {
    FaultyFileSystem faulty(posix_file_system());
    TestRun run;
    run.files = &faulty;
    run.run(2);
    run.save_every = 0;
    FunctionHook evaluation;
    evaluation.on_created = [&](TrainingSession& session) {
      session.set_validation_accuracy(0.5);
      faulty.fail_call(faulty.calls() + 1, FaultyFileSystem::Fault::error, code);
    };
    run.more_hooks = then_save(evaluation, 100);
    if (code == EACCES) {
      EXPECT_EQ(error_of([&] { run.run(4); }).kind(), ErrorKind::permission_denied);
      EXPECT_THAT(run.steps(), ElementsAre(2, 1, 0));
    } else {
      run.run(4);
      EXPECT_THAT(run.notes, testing::Contains(testing::StartsWith(
                                 "the checkpoint of step 2 has no validation accuracy: ")));
      EXPECT_THAT(run.steps(), ElementsAre(4, 2, 1, 0));
    }
    EXPECT_FALSE(faulty.failed_call().empty());
  }
}

// Whether a checkpoint could be written is one thing, what is done with it another.
TEST(CheckpointSaverHook, DoesNotOutliveAListenerThatFails) {
  for (const uint64_t at : {0, 2, 3}) {
    TestRun run;
    run.save_every = 0;
    run.more_hooks = [&](CheckpointFolder& folder) {
      CheckpointSaverOptions options = {.every = {.steps = 2}};
      options.listeners.push_back([&](const std::string& path, uint64_t step) {
        if (step == at)
          throw Error({.kind = ErrorKind::unsupported, .path = path, .reason = "not for uploads"});
      });
      return hooks(CheckpointSaverHook(folder, options));
    };
    EXPECT_EQ(error_of([&] { run.run(3); }).kind(), ErrorKind::unsupported);
    EXPECT_EQ(run.steps().front(), at);
    EXPECT_THAT(run.notes, testing::IsEmpty());
  }
}

// The last step is saved when it is due, and again with the accuracy of the evaluation at the end.
TEST(CheckpointSaverHook, OutlivesAnAccuracyThatCannotBeRecorded) {
  FaultyFileSystem faulty(posix_file_system());
  TestRun run;
  run.files = &faulty;
  run.save_every = 0;
  FunctionHook evaluation;
  evaluation.on_end = [&](TrainingSession& session) {
    session.set_validation_accuracy(0.5);
    faulty.fail_call(faulty.calls() + 1, FaultyFileSystem::Fault::error, ENOSPC);
  };
  run.more_hooks = then_save(evaluation, 2);
  run.run(4);
  EXPECT_FALSE(faulty.failed_call().empty());
  EXPECT_THAT(run.steps(), ElementsAre(4, 2, 0));
  EXPECT_THAT(
      run.notes,
      ElementsAre(testing::StartsWith("the checkpoint of step 4 has no validation accuracy: ")));
}

// Then the run would end well, and nothing of it would be there.
TEST(CheckpointSaverHook, DoesNotOutliveAnAccuracyWhoseCheckpointIsGone) {
  TestRun run;
  run.save_every = 0;
  FunctionHook evaluation;
  evaluation.on_end = [&](TrainingSession& session) {
    session.set_validation_accuracy(0.5);
    std::filesystem::remove_all(run.job_dir);
    write_file(run.job_dir, "no folder");
  };
  run.more_hooks = then_save(evaluation, 2);
  EXPECT_THAT(error_of([&] { run.run(4); }).what(), HasSubstr(run.job_dir));
  EXPECT_THAT(run.notes, testing::IsEmpty());
}

// The other run's checkpoint has the name of this one's.
TEST(CheckpointSaverHook, DoesNotOutliveAnAccuracyWhereTheFolderBelongsToAnother) {
  TestRun run;
  run.save_every = 0;
  FunctionHook evaluation;
  evaluation.on_end = [&](TrainingSession& session) {
    session.set_validation_accuracy(0.5);
    std::filesystem::remove_all(run.job_dir);
    CheckpointFolder(posix_file_system(), run.job_dir)
        .save(session.trainer().variables(), session.state());
  };
  run.more_hooks = then_save(evaluation, 2);
  EXPECT_EQ(error_of([&] { run.run(4); }).kind(), ErrorKind::busy);
}

// The loss doesn't reveal infinite moving statistics of batch norm: they affect evaluations only.
TEST(CheckpointSaverHook, EndsARunWhoseVariablesAreNotFinite) {
  for (const NanPolicy policy : {NanPolicy::fail, NanPolicy::stop})
    for (const uint64_t every : {4, 100}) {  // detected during the run, and at the end
      TestRun run;
      run.save_every = 0;
      FunctionHook spoiler;
      uint64_t last_step = 0;
      std::vector<float> weights, ended;
      spoiler.on_after = [&](TrainingSession& session, const RunValues& values) {
        if (values.result.step != 3) return;
        Variables& variables = session.trainer().variables();
        for (VariableId id = 0; id < variables.specs().size(); ++id)
          if (!variables.specs()[id].trained)
            variables.write(id, std::vector<float>(variables.specs()[id].size(), INFINITY));
      };
      run.more_hooks = [&](CheckpointFolder& folder) {
        Hooks list = hooks(spoiler);
        list.push_back(std::make_unique<CheckpointSaverHook>(
            folder, CheckpointSaverOptions{.every = {.steps = every}, .nan = policy}));
        FunctionHook last;
        last.on_created = [&](TrainingSession& session) {
          weights = session.trainer().variables().read(0);
        };
        last.on_end = [&](TrainingSession& session) {
          last_step = session.step();
          ended = session.trainer().variables().read(0);
        };
        list.push_back(std::make_unique<FunctionHook>(last));
        return list;
      };
      if (policy == NanPolicy::fail) {
        EXPECT_THROW(run.run(6), VariableNotFiniteError);
        continue;
      }
      run.run(6);
      EXPECT_EQ(last_step, 0u);
      EXPECT_EQ(ended, weights) << "those of the newest checkpoint";
      EXPECT_THAT(run.steps(), ElementsAre(0));
      EXPECT_THAT(run.notes, ElementsAre(HasSubstr("training stops with the weights of")));
    }
}

}  // namespace
}  // namespace recordpipe
