#include "tests/trainer/session/test_run.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "recordpipe/base/philox.h"
#include "recordpipe/checksum/crc32c.h"
#include "recordpipe/image/image_batch.h"
#include "recordpipe/pipeline/range.h"
#include "recordpipe/trainer/backend/cpu/cpu_backend.h"
#include "recordpipe/trainer/checkpoint/safetensors.h"
#include "recordpipe/trainer/session/checkpoint_saver_hook.h"
#include "recordpipe/trainer/session/stop_at_step_hook.h"

namespace recordpipe {
namespace {

constexpr ImageFormat format = {
    .height = 4, .width = 4, .channels = 3, .dtype = DType::float32, .layout = Layout::nchw};
constexpr int classes = 3;

struct Picture {
  std::vector<float> values;
  int32_t label = 0;
};

struct PictureCollator {
  using Batch = ImageBatch;
  void reset(Batch& batch, size_t rows) const { batch.reset(format, rows); }
  void set(Batch& batch, size_t row, Picture&& picture) const {
    std::memcpy(batch.image_at(row), picture.values.data(), format.bytes_per_image());
    batch.set_label(row, picture.label);
  }
};

Dataset<ImageBatch> pictures(uint64_t seed, size_t batch_size, std::function<void()> on_image) {
  return range(22)
      .shuffle(10, seed)
      .repeat()
      .map_with_random(seed,
                       [on_image = std::move(on_image)](int64_t number, Random& random) {
                         on_image();
                         Picture picture = {.values = std::vector<float>(format.values_per_image()),
                                            .label = static_cast<int32_t>(number % classes)};
                         for (float& value : picture.values)
                           value = static_cast<float>(number) / 22 + random.uniform();
                         return picture;
                       })
      .batch(batch_size, DropRemainder::yes, PictureCollator{})
      .prefetch(2);
}

Network trained_network() {
  Network network({format.channels, format.height, format.width});
  const NodeId x = network.batch_norm(network.conv2d(0, "conv", {.filters = 4}), "bn");
  network.softmax_cross_entropy(network.dense(x, "dense", classes));
  return network;
}

}  // namespace

void TestRun::run(std::optional<uint64_t> last_step, Hooks hooks) {
  notes.clear();
  const Network network = trained_network();
  CpuBackend backend({.threads = 1});
  const auto variables = backend.make_variables(network);
  Trainer trainer(backend, network, *variables,
                  {.batch_size = batch_size,
                   .gradient_multipliers = gradient_multipliers,
                   .average_decay = 0.99});
  CheckpointFolder checkpoints(*files, job_dir, keep);
  if (last_step)
    hooks.push_back(std::make_unique<StopAtStepHook>(StopAtStepOptions{.last_step = last_step}));
  if (save_every > 0)
    hooks.push_back(std::make_unique<CheckpointSaverHook>(
        checkpoints, CheckpointSaverOptions{.every = {.steps = save_every}}));
  std::ranges::move(more_hooks(checkpoints), std::back_inserter(hooks));
  TrainingSession session(
      trainer, checkpoints,
      {.batches =
           [this](uint64_t data_seed) {
             return pictures(data_seed, batch_size, on_image).with_options(options);
           },
       .learning_rate = [this](uint64_t) { return learning_rate; },
       .seed = seed,
       .settings = settings,
       .recoveries = recoveries,
       .note = [this](const std::string& text) { notes.push_back(text); }},
      std::move(hooks));
  session.run();
}

std::string TestRun::path(uint64_t step) const {
  return job_dir + "/checkpoint-" + std::to_string(step) + ".safetensors";
}

std::map<std::string, std::string> TestRun::content(uint64_t step) const {
  const SafetensorsReader reader(posix_file_system(), path(step));
  std::map<std::string, std::string> content;
  for (const auto& [key, value] : reader.metadata()) content["metadata " + key] = value;
  for (const auto& [name, tensor] : reader.tensors())
    content[name] = std::to_string(crc32c(tensor.data));
  return content;
}

std::vector<uint64_t> TestRun::steps() const {
  std::vector<uint64_t> steps;
  for (const CheckpointFile& file : list_checkpoints(posix_file_system(), job_dir))
    steps.push_back(file.step);
  return steps;
}

}  // namespace recordpipe
