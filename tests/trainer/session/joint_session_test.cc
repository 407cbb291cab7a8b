// Tests that sessions of several processes, emulated by threads, begin and end together.
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/pipeline/from_vector.h"
#include "recordpipe/trainer/backend/cpu/cpu_backend.h"
#include "recordpipe/trainer/backend/replicated/replicated_backend.h"
#include "recordpipe/trainer/model/resnet.h"
#include "recordpipe/trainer/session/training_session.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_directory.h"
#include "tests/trainer/session/test_run.h"
#include "tests/trainer/test_networks.h"
#include "tests/trainer/thread_communicator.h"

namespace recordpipe {
namespace {

constexpr size_t images_per_step = 8;  // over all processes

Network network() { return resnet({.layers = 8, .input = {3, 8, 8}}); }

// The state of a process after its run.
struct Ending {
  uint64_t step = 0;
  std::vector<float> weights;

  bool operator==(const Ending&) const = default;
};

// Runs one of the processes until process `stopper` requests a stop before step `stop_at`.
Ending run(Communicator& processes, CheckpointFolder* checkpoints, size_t stopper,
           uint64_t stop_at) {
  ReplicatedBackend backend(std::make_unique<CpuBackend>(CpuBackendOptions{.threads = 1}),
                            processes);
  const auto variables = backend.make_variables(network());
  Trainer trainer(backend, network(), *variables,
                  {.batch_size = images_per_step / processes.size(), .average_decay = 0.9});
  FunctionHook hook;
  hook.on_after = [&](TrainingSession& session, const RunValues& values) {
    if (processes.rank() == stopper && values.result.step == stop_at) session.request_stop();
  };
  const SessionOptions options = {
      .batches =
          [&](uint64_t seed) {
            return from_vector(std::vector<uint64_t>{seed, seed + 1, seed + 2})
                .repeat()
                .map([&](uint64_t of_batch) {
                  return random_batch(network(), images_per_step / processes.size(),
                                      of_batch * processes.size() + processes.rank());
                });
          },
      .learning_rate = [](uint64_t) { return 0.01; },
      .processes = &processes};
  auto session = checkpoints ? TrainingSession(trainer, *checkpoints, options, hooks(hook))
                             : TrainingSession(trainer, options, hooks(hook));
  session.run();
  if (checkpoints) checkpoints->save(*variables, session.state());
  return {.step = session.step(), .weights = variables->read(0, Slot::average)};
}

// Runs two processes, of which only the first knows the folder.
std::array<Ending, 2> run_two(const std::string& folder, size_t stopper, uint64_t stop_at) {
  std::array<Ending, 2> endings;
  in_threads(2, [&](Communicator& processes) {
    std::optional<CheckpointFolder> checkpoints;
    if (processes.rank() == 0) checkpoints.emplace(posix_file_system(), folder);
    endings[processes.rank()] =
        run(processes, checkpoints ? &*checkpoints : nullptr, stopper, stop_at);
  });
  return endings;
}

TEST(JointSession, EndsInAllProcessesWhereOneIsAsked) {
  for (const size_t stopper : {0u, 1u}) {
    const TemporaryDirectory folder;
    const auto [first, second] = run_two(folder / "job", stopper, 3);
    EXPECT_EQ(first.step, 3u);
    EXPECT_EQ(second, first);
  }
}

TEST(JointSession, GoesOnWhereTheFirstProcessDoes) {
  const TemporaryDirectory folder;
  const auto whole = run_two(folder / "whole", 0, 5);
  run_two(folder / "job", 1, 2);
  const auto resumed = run_two(folder / "job", 1, 5);
  EXPECT_EQ(resumed[0].step, 5u);
  EXPECT_EQ(resumed, whole);
}

// If a step fails in a session without a folder, there is no checkpoint to retry from.
TEST(JointSession, EndsByTheErrorWhereThereIsNoFolder) {
  CpuBackend backend({.threads = 1});
  const auto variables = backend.make_variables(network());
  Trainer trainer(backend, network(), *variables, {.batch_size = images_per_step});
  FunctionHook hook;
  hook.on_after = [](TrainingSession&, const RunValues&) {
    throw Error({.kind = ErrorKind::io, .reason = "the disk is tired"});
  };
  TrainingSession session(
      trainer,
      {.batches =
           [](uint64_t) {
             return from_vector(std::vector<uint64_t>{1}).repeat().map([](uint64_t seed) {
               return random_batch(network(), images_per_step, seed);
             });
           },
       .learning_rate = [](uint64_t) { return 0.01; }},
      hooks(hook));
  EXPECT_EQ(error_of([&] { session.run(); }).reason(), "the disk is tired");
}

// If one process retried a step, the others would not.
TEST(JointSession, TriesNoStepAgain) {
  const TemporaryDirectory folder;
  in_threads(2, [&](Communicator& processes) {
    std::optional<CheckpointFolder> checkpoints;
    if (processes.rank() == 0) checkpoints.emplace(posix_file_system(), folder / "job");
    CpuBackend backend({.threads = 1});
    const auto variables = backend.make_variables(network());
    Trainer trainer(backend, network(), *variables, {.batch_size = images_per_step});
    FunctionHook hook;
    hook.on_after = [&](TrainingSession& session, const RunValues&) {
      if (checkpoints) checkpoints->save(*variables, session.state());
      throw Error({.kind = ErrorKind::io, .reason = "the disk is tired"});
    };
    const SessionOptions options = {
        .batches =
            [&](uint64_t) {
              return from_vector(std::vector<uint64_t>{1}).repeat().map([&](uint64_t seed) {
                return random_batch(network(), images_per_step, seed);
              });
            },
        .learning_rate = [](uint64_t) { return 0.01; },
        .processes = &processes};
    auto session = checkpoints ? TrainingSession(trainer, *checkpoints, options, hooks(hook))
                               : TrainingSession(trainer, options, hooks(hook));
    EXPECT_EQ(error_of([&] { session.run(); }).reason(), "the disk is tired");
  });
}

}  // namespace
}  // namespace recordpipe
