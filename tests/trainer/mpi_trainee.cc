// Trains a small network like a program with --sync: alone or in several processes, with
// checkpoints. Resumes if there are any, and can make a process fail.
//
//   mpi_trainee JOB_DIR STEPS [kill|throw AT_STEP]
//
// Before the given step, the last process kills itself or throws. The first process prints the CRC
// of all variables after the last step.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "recordpipe/crc32c.h"
#include "recordpipe/error.h"
#include "recordpipe/file.h"
#include "recordpipe/trainer/backend/cpu/cpu_backend.h"
#include "recordpipe/trainer/backend/replicated/mpi_communicator.h"
#include "recordpipe/trainer/backend/replicated/replicated_backend.h"
#include "recordpipe/trainer/checkpoint/checkpoint_folder.h"
#include "recordpipe/trainer/model/resnet.h"
#include "recordpipe/trainer/training/trainer.h"
#include "tests/trainer/replica_training.h"
#include "tests/trainer/test_networks.h"

namespace recordpipe {
namespace {

constexpr size_t images = 24;  // per step, over all processes

struct Arguments {
  std::string job_dir;
  uint64_t steps;
  std::string failure;
  uint64_t fails_at;
};

void fail(const std::string& failure) {
  if (failure == "kill") std::raise(SIGKILL);
  throw Error({.kind = ErrorKind::io, .reason = "made to fail"});
}

uint32_t crc_of(const Variables& variables) {
  uint32_t crc = 0;
  for (VariableId id = 0; id < variables.specs().size(); ++id) {
    const std::vector<float> values = variables.read(id);
    crc = crc32c_extend(crc, std::as_bytes(std::span(values)));
  }
  return crc;
}

void run(const Arguments& arguments) {
  const auto processes = join_mpi();
  const bool is_first = processes->rank() == 0,
             is_last = processes->rank() + 1 == processes->size();
  const Network network = resnet({.layers = 8, .input = {3, 8, 8}});
  ReplicatedBackend backend(std::make_unique<CpuBackend>(CpuBackendOptions{.threads = 1}),
                            *processes);
  const auto variables = backend.make_variables(network);
  initialize(*variables, 1);
  Trainer trainer(backend, network, *variables, {.batch_size = images / processes->size()});

  std::optional<CheckpointFolder> checkpoints;
  uint64_t step = 0;
  if (is_first) {
    checkpoints.emplace(posix_file_system(), arguments.job_dir, 2);
    if (const auto restored = checkpoints->restore(*variables)) step = restored->state.step;
    std::printf("starts at step %d\n", static_cast<int>(step));
    std::fflush(stdout);
  }
  share_variables(*processes, *variables);
  processes->broadcast(std::as_writable_bytes(std::span(&step, 1)));
  trainer.set_steps_done(step);

  while (trainer.steps_done() < arguments.steps) {
    if (is_last && trainer.steps_done() + 1 == arguments.fails_at) fail(arguments.failure);
    const ImageBatch whole = random_batch(network, images, trainer.steps_done());
    trainer.step(share_of(whole, processes->rank(), processes->size()),
                 [](uint64_t) { return 0.05; });
    if (is_first && trainer.steps_done() % 2 == 0)
      checkpoints->save(*variables, {.step = trainer.steps_done()});
  }
  if (is_first) std::printf("crc %08x\n", crc_of(*variables));
}

}  // namespace
}  // namespace recordpipe

int main(int argc, char** argv) {
  if (argc != 3 && argc != 5) return 2;
  try {
    recordpipe::run({.job_dir = argv[1],
                     .steps = std::stoull(argv[2]),
                     .failure = argc > 3 ? argv[3] : "",
                     .fails_at = argc > 3 ? std::stoull(argv[4]) : 0});
  } catch (const recordpipe::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
