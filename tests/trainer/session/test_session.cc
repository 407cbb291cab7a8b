#include "tests/trainer/session/test_session.h"

#include "recordpipe/io/file.h"
#include "recordpipe/pipeline/from_vector.h"
#include "recordpipe/trainer/checkpoint/checkpoint_folder.h"
#include "recordpipe/trainer/model/resnet.h"
#include "recordpipe/trainer/training/trainer.h"

namespace recordpipe {

TestSession::TestSession() : network(resnet({.layers = 8, .input = {3, 8, 8}})) {}

void TestSession::run(uint64_t last_step, std::vector<std::unique_ptr<SessionHook>> hooks) {
  notes.clear();
  const auto variables = backend->make_variables(network);
  initialize(*variables, 1);
  Trainer trainer(*backend, network, *variables, {.batch_size = 8});
  CheckpointFolder checkpoints(posix_file_system(), folder / "job");
  hooks.push_back(
      std::make_unique<AfterRun>([&](TrainingSession& session, const RunValues& values) {
        if (values.result.step == save_after) checkpoints.save(*variables, session.state());
        if (values.result.step >= last_step) session.request_stop();
      }));
  const auto batches = [this](uint64_t) {
    return from_vector(std::vector<uint64_t>{1, 2, 3}).repeat().map([this](uint64_t seed) {
      return random_batch(network, 8, seed);
    });
  };
  TrainingSession session(trainer, checkpoints,
                          {.batches = batches,
                           .learning_rate = [this](uint64_t) { return learning_rate; },
                           .note = [this](const std::string& text) { notes.push_back(text); }},
                          std::move(hooks));
  session.run();
}

}  // namespace recordpipe
