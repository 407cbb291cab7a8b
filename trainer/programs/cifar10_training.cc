#include "trainer/programs/cifar10_training.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "dataset/base/error.h"
#include "dataset/base/philox.h"
#include "dataset/cifar/cifar10_dataset.h"
#include "dataset/cifar/synthetic_mark.h"
#include "trainer/backend/cpu/cpu_backend.h"
#include "trainer/backend/reference/reference_backend.h"
#include "trainer/checkpoint/checkpoint_folder.h"
#include "trainer/model/resnet.h"
#include "trainer/programs/interrupt.h"
#include "trainer/programs/training_log.h"
#include "trainer/training/evaluate.h"
#include "trainer/training/trainer.h"

namespace recordpipe {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Cifar10Data {
  std::vector<std::string> train_files, eval_files;
  size_t train_images, eval_images;
  bool synthetic;
};

// Refuses what can't be trained on and evaluated, before anything is taken or made for it.
Cifar10Data open_data(const Cifar10Flags& flags) {
  Cifar10Data data = {.train_files = cifar10_files(flags.data_dir, Cifar10Subset::train),
                      .eval_files = cifar10_files(flags.data_dir, Cifar10Subset::eval),
                      .train_images = cifar10_count(data.train_files),
                      .eval_images = cifar10_count(data.eval_files),
                      .synthetic = is_marked_synthetic(posix_file_system(), flags.data_dir)};
  const auto refuse = [&](const std::string& reason) {
    throw Error({.kind = ErrorKind::invalid_argument, .path = flags.data_dir, .reason = reason});
  };
  if (data.train_images < flags.train_batch_size)
    refuse(fmt::format("{} training images don't fill a batch of {}", data.train_images,
                       flags.train_batch_size));
  if (data.eval_images == 0) refuse("there are no images to evaluate on");
  return data;
}

std::unique_ptr<Backend> make_backend(const Cifar10Flags& flags) {
  if (flags.device == "reference") return std::make_unique<ReferenceBackend<>>();
  return std::make_unique<CpuBackend>(CpuBackendOptions{.threads = flags.num_intra_threads});
}

class Cifar10Training {
 public:
  explicit Cifar10Training(const Cifar10Flags& flags)
      : flags_(flags),
        data_(open_data(flags)),
        network_(resnet({.layers = flags.num_layers,
                         .batch_norm_decay = flags.batch_norm_decay,
                         .batch_norm_epsilon = flags.batch_norm_epsilon,
                         .label_smoothing = flags.label_smoothing})),
        backend_(make_backend(flags)),
        checkpoints_(posix_file_system(), flags.job_dir, flags.keep_checkpoints),
        variables_(backend_->make_variables(network_)),
        trainer_(*backend_, network_, *variables_,
                 {.batch_size = flags.train_batch_size,
                  .momentum = flags.momentum,
                  .weight_decay = flags.weight_decay}) {}

  int run() {
    spdlog::info("ResNet of {} layers, {} parameters, on {}", flags_.num_layers,
                 network_.parameter_count(), backend_->name());
    if (const auto restored = load_start()) {
      for (const Error& damaged : restored->damaged) spdlog::warn("skipped: {}", damaged.what());
      last_checkpoint_ = restored->path;
      spdlog::info("resumed from {} at step {}", printable(restored->path), restored->step);
    }
    const uint64_t last_step = flags_.minutes > 0 ? measure_last_step() : flags_.train_steps;
    if (const int signal = train(last_step)) return 128 + signal;
    try {
      evaluate_and_print();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::cancelled) throw;
      spdlog::info("{}; run it again for the accuracy", error.what());
      return 128 + interrupted();
    }
    return 0;
  }

 private:
  // The newest checkpoint, or initial values.
  std::optional<RestoredCheckpoint> load_start() {
    initialize(*variables_, flags_.seed);
    auto restored = checkpoints_.restore(*variables_);
    trainer_.set_steps_done(restored ? restored->step : 0);
    return restored;
  }

  // The place in the data isn't part of a checkpoint: a run that is resumed goes on with an order
  // and distortions of its own, that depend on the seed and the step it starts from.
  Dataset<ImageBatch> training_batches() const {
    const uint64_t step = trainer_.steps_done();
    return cifar10_batches(
        data_.train_files,
        {.batch_size = flags_.train_batch_size,
         .seed = step == 0 ? flags_.seed : derive_key(flags_.seed, step),
         .shuffle_buffer = data_.train_images * 2 / 5 + 3 * flags_.train_batch_size,
         .distort = flags_.use_distortion_for_training,
         .epochs = -1,
         .dtype = DType::uint8,
         .layout = flags_.data_format,
         .threads = pipeline_threads()});
  }

  // One thread makes batches many times faster than two cores train on them.
  size_t pipeline_threads() const {
    return flags_.num_inter_threads == 0 ? 1 : flags_.num_inter_threads;
  }

  // How many steps fit into the minutes that were asked for: makes steps for a few seconds, then
  // forgets them, so that a run with --train-steps repeats this one from its first step.
  uint64_t measure_last_step() {
    const double budget = flags_.minutes * 60, trial = std::min(10.0, 0.03 * budget);
    const uint64_t first_step = trainer_.steps_done();
    const Clock::time_point start = Clock::now();
    Iterator<ImageBatch> batches = training_batches().iterate();
    const auto step = [&] { trainer_.step(*batches.next(), [](uint64_t) { return 0.0; }); };
    for (int warm_up = 0; warm_up < 3; ++warm_up) step();
    const Clock::time_point measured_from = Clock::now();
    uint64_t steps = 0;
    do {
      step();
      ++steps;
    } while (seconds_since(start) < trial && !interrupted());
    const double per_step = seconds_since(measured_from) / static_cast<double>(steps);

    load_start();
    const double left = std::max(0.0, budget - seconds_since(start));
    const uint64_t last_step = first_step + 1 + static_cast<uint64_t>(left / per_step);
    spdlog::info("{:.1f} ms a step{}: training to step {}; --train-steps {} repeats this run",
                 1e3 * per_step, data_.synthetic ? " on synthetic data" : "", last_step, last_step);
    return last_step;
  }

  LearningRateSchedule make_schedule(uint64_t last_step) const {
    if (flags_.learning_rate_schedule == "cosine")
      return cosine_schedule(flags_.learning_rate, flags_.warmup_steps, last_step);
    return tutorial_schedule(flags_.learning_rate, data_.train_images / flags_.train_batch_size);
  }

  // Returns the signal that interrupted it, or 0.
  int train(uint64_t last_step) {
    if (trainer_.steps_done() >= last_step) return 0;
    const LearningRateSchedule schedule = make_schedule(last_step);
    Iterator<ImageBatch> batches = training_batches().iterate();
    TrainingLog log(trainer_, {.last_step = last_step,
                               .log_frequency = flags_.log_frequency,
                               .synthetic = data_.synthetic});
    while (trainer_.steps_done() < last_step) {
      const Clock::time_point start = Clock::now();
      const ImageBatch* batch = batches.next();
      const double waited = seconds_since(start);
      const StepResult result = trainer_.step(*batch, schedule);
      log.step(result, waited);
      const int signal = interrupted();
      if (signal || result.step % flags_.checkpoint_steps == 0 || result.step == last_step) {
        last_checkpoint_ = checkpoints_.save(*variables_, result.step);
        log.note("saved " + printable(last_checkpoint_));
      }
      if (signal) {
        log.note(fmt::format("interrupted at step {} of {}; run it again to go on", result.step,
                             last_step));
        return signal;
      }
    }
    return 0;
  }

  void evaluate_and_print() {
    const size_t batch_size = std::min(flags_.eval_batch_size, data_.eval_images);
    const Dataset<ImageBatch> batches =
        cifar10_batches(data_.eval_files, {.batch_size = batch_size,
                                           .dtype = DType::uint8,
                                           .layout = flags_.data_format,
                                           .threads = pipeline_threads()});
    const BatchResult result = evaluate(*backend_, network_, *variables_, batches, batch_size,
                                        [] { return interrupted() != 0; });
    if (!last_checkpoint_.empty()) fmt::print("checkpoint {}\n", printable(last_checkpoint_));
    fmt::print("{}eval accuracy {:.2f}% ({}/{}) at step {}\n", data_.synthetic ? "synthetic " : "",
               100 * static_cast<double>(result.correct) / static_cast<double>(result.images),
               result.correct, result.images, trainer_.steps_done());
    if (std::fflush(stdout) != 0) throw system_error(errno, "write", "standard output");
  }

  const Cifar10Flags flags_;
  const Cifar10Data data_;
  const Network network_;
  const std::unique_ptr<Backend> backend_;
  CheckpointFolder checkpoints_;
  const std::unique_ptr<Variables> variables_;
  Trainer trainer_;
  std::string last_checkpoint_;
};

}  // namespace

int train_cifar10(const Cifar10Flags& flags) { return Cifar10Training(flags).run(); }

}  // namespace recordpipe
