// Trains a small network with two custom hooks, until one requests a stop. A second run resumes
// from the newest checkpoint.
//
//     own_hook JOB_DIR             for checkpoints; the program draws its own images
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recordpipe/image/image_batch.h"
#include "recordpipe/io/file.h"
#include "recordpipe/pipeline/range.h"
#include "recordpipe/trainer/backend/cpu/cpu_backend.h"
#include "recordpipe/trainer/checkpoint/checkpoint_folder.h"
#include "recordpipe/trainer/model/network.h"
#include "recordpipe/trainer/session/checkpoint_saver_hook.h"
#include "recordpipe/trainer/session/stop_at_step_hook.h"
#include "recordpipe/trainer/session/training_session.h"

using namespace recordpipe;

// Stops the training after 20 consecutive batches with an accuracy of at least 95 %.
class StopWhenAccurate final : public SessionHook {
 public:
  void after_run(TrainingSession& session, const RunValues& values) override {
    const BatchResult& batch = values.result.batch;
    in_a_row_ = 100 * batch.correct >= 95 * batch.images ? in_a_row_ + 1 : 0;
    if (in_a_row_ >= 20) session.request_stop();
  }
  void end(TrainingSession& session) override {
    std::printf("accurate %d times in a row: ends at step %llu\n", in_a_row_,
                static_cast<unsigned long long>(session.step()));
  }

 private:
  int in_a_row_ = 0;
};

// Prints the loss of every tenth step.
class PrintLoss final : public SessionHook {
 public:
  void after_run(TrainingSession&, const RunValues& values) override {
    if (values.result.step % 10 == 1) std::printf("loss = %f\n", values.result.batch.loss);
  }
};

constexpr size_t kSize = 12, kBatchSize = 32;

// Draws noisy stripes: horizontal (label 0) or vertical (label 1).
ImageBatch draw_stripes(Random& random) {
  ImageBatch batch;
  batch.reset({.height = kSize, .width = kSize, .channels = 1, .dtype = DType::uint8}, kBatchSize);
  for (size_t row = 0; row < kBatchSize; ++row) {
    const uint32_t label = random.below(2), start = random.below(4);
    batch.set_label(row, static_cast<int32_t>(label));
    for (size_t y = 0; y < kSize; ++y)
      for (size_t x = 0; x < kSize; ++x) {
        const bool bright = ((label == 0 ? y : x) + start) / 2 % 2 == 0;
        batch.image_at(row)[y * kSize + x] =
            static_cast<std::byte>((bright ? 56 : 0) + random.below(200));
      }
  }
  return batch;
}

constexpr char kUsage[] = R"(usage: own_hook JOB_DIR

Trains a small network on images that it draws, until a custom hook requests a stop, and keeps
checkpoints in JOB_DIR. A second run resumes from the newest one.
)";

int main(int argc, char** argv) {
  const bool help = argc > 1 && std::string_view(argv[1]) == "--help";
  if (help || argc != 2 || argv[1][0] == '-') {
    std::fputs(kUsage, help ? stdout : stderr);
    return help ? 0 : 2;
  }
  try {
    Network network({.channels = 1, .height = kSize, .width = kSize});
    const NodeId x = network.batch_norm(network.conv2d(0, "conv", {.filters = 8}), "bn");
    network.softmax_cross_entropy(
        network.dense(network.global_average_pool(x, "pool"), "dense", 2));

    CpuBackend backend({.threads = 1});  // one thread: the network is too small for more
    const auto variables = backend.make_variables(network);
    Trainer trainer(backend, network, *variables, {.batch_size = kBatchSize});
    CheckpointFolder checkpoints(posix_file_system(), argv[1]);
    const auto print = [](const std::string& line) { std::printf("%s\n", line.c_str()); };

    std::vector<std::unique_ptr<SessionHook>> hooks;
    hooks.push_back(std::make_unique<StopAtStepHook>(StopAtStepOptions{.num_steps = 2000}));
    hooks.push_back(std::make_unique<PrintLoss>());
    hooks.push_back(std::make_unique<StopWhenAccurate>());
    hooks.push_back(std::make_unique<CheckpointSaverHook>(
        checkpoints, CheckpointSaverOptions{.every = {.steps = 50}}));

    // All randomness depends only on the seed, so every run of this program trains identically.
    const auto batches = [](uint64_t seed) {
      return range(1'000'000).repeat().map_with_random(
          seed, [](int64_t, Random& random) { return draw_stripes(random); });
    };
    TrainingSession session(
        trainer, checkpoints,
        {.batches = batches, .learning_rate = [](uint64_t) { return 0.05; }, .note = print},
        std::move(hooks));
    session.run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
