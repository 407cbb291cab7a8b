#include "trainer/programs/tutorial_training.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "recordpipe/base/error.h"
#include "recordpipe/cifar/cifar10_dataset.h"
#include "recordpipe/cifar/data_folder.h"
#include "recordpipe/cifar/tutorial_batches.h"
#include "recordpipe/trainer/model/tutorial_cnn.h"
#include "recordpipe/trainer/session/write_events.h"
#include "recordpipe/trainer/summary/event_writer.h"
#include "tools/support/process/interrupt.h"
#include "trainer/programs/airbench_recipe.h"
#include "trainer/programs/device.h"
#include "trainer/programs/evaluation.h"
#include "trainer/programs/log.h"
#include "trainer/programs/processes.h"
#include "trainer/programs/training_run.h"

namespace recordpipe {
namespace {

constexpr double weight_decay = 0.004;
constexpr double average_decay = 0.9999;

// One thread makes batches many times faster than two cores train on them.
size_t pipeline_threads(const TutorialFlags& flags) {
  return flags.num_inter_threads == 0 ? 1 : flags.num_inter_threads;
}

bool is_synthetic(const TutorialFlags& flags) {
  return is_marked_synthetic(posix_file_system(), flags.data_dir);
}

// Waits until a signal arrives or the time is over. Returns false after a signal.
bool pause(uint64_t seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (!interrupted() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return !interrupted();
}

Error with_hint(const Error& error, std::string hint) {
  return Error({.kind = error.kind(),
                .path = error.path(),
                .offset = error.offset(),
                .reason = error.reason(),
                .hint = std::move(hint)});
}

// A single checkpoint, not a folder.
bool names_a_checkpoint(const std::string& path) {
  const auto status = posix_file_system().status(path);
  return status ? status->kind == FileKind::regular : path.ends_with(".safetensors");
}

class TutorialEvaluation {
 public:
  explicit TutorialEvaluation(const TutorialEvalFlags& flags)
      : flags_(flags),
        network_(tutorial_cnn()),
        backend_(make_backend(flags.device)),
        variables_(backend_->make_variables(network_)) {
    const auto files = flags.eval_data == "test"
                           ? cifar10_files(flags.data_dir, Cifar10Subset::eval)
                           : all_training_files(flags.data_dir);
    images_ = std::min<uint64_t>(cifar10_count(files), flags.num_examples);
    if (images_ == 0)
      throw Error({.kind = ErrorKind::invalid_argument,
                   .path = flags.data_dir,
                   .reason = "there are no images to evaluate on"});
    files_ = files;
  }

  // Evaluates the newest checkpoint unless it was already evaluated.
  void evaluate_newest() {
    const auto newest = list();
    if (newest.empty() || newest.front().step == evaluated_step_) return;
    const auto restored = restore();
    if (!restored || restored->state.step == evaluated_step_) return;
    evaluate(restored->path, restored->state.step);
  }

  // Evaluates the checkpoint at `path`.
  void evaluate_one(const std::string& path) {
    uint64_t step = 0;
    try {
      step = read_checkpoint(posix_file_system(), path, *variables_).step;
    } catch (const Error& error) {
      if (is_unreadable_checkpoint(error) || !posix_file_system().status(path)) throw;
      throw with_hint(error, "is it a checkpoint of cifar10_train?");
    }
    evaluate(path, step);
  }

  bool has_evaluated() const { return evaluated_step_.has_value(); }

 private:
  // Evaluates the variables restored from `path`.
  void evaluate(const std::string& path, uint64_t step) {
    const Evaluation evaluation = run_evaluation();
    const BatchResult& result = evaluation.total;
    evaluated_step_ = step;
    const double precision =
        static_cast<double>(result.correct) / static_cast<double>(result.images);
    log_info("precision @ 1 = {:.3f}, loss = {:.4f}, of {}", precision, result.loss,
             printable(path));
    write_summary(step, precision, result.loss);
    if (flags_.confusion_matrix) print_confusion(evaluation.confusion);
    print_accuracy(result, step, is_synthetic(flags_));
  }

  // The newest intact checkpoint. An unreadable one may still be in transfer, for example by
  // rsync(1): the loop waits until it is complete.
  std::optional<RestoredCheckpoint> restore() {
    try {
      auto restored = restore_newest(posix_file_system(), flags_.checkpoint_dir, *variables_);
      if (restored)
        for (const Error& damaged : restored->damaged) warn_once(damaged);
      return restored;
    } catch (const Error& error) {
      if (!is_unreadable_checkpoint(error))
        throw with_hint(error, "is it a checkpoint of cifar10_train?");
      if (flags_.run_once) throw with_hint(error, "no checkpoint in this folder is intact");
      warn_once(error);
      return {};
    }
  }

  void warn_once(const Error& damaged) {
    if (warned_.insert(damaged.path()).second)
      log_warning("skipped: {}: {}", printable(damaged.path()), damaged.reason());
  }

  // The scalar has the tutorial's name. If the event file can't be written, the evaluation is still
  // useful.
  void write_summary(uint64_t step, double precision, double loss) {
    write_or_note([](const std::string& text) { log_warning("{}", text); },
                  [&] {
                    events_.add_summary(step, {{"Precision @ 1", ScalarSummary{precision}},
                                               {"loss", ScalarSummary{loss}}});
                    events_.flush();
                  });
  }

  std::vector<CheckpointFile> list() const {
    if (!posix_file_system().status(flags_.checkpoint_dir)) return {};
    return list_checkpoints(posix_file_system(), flags_.checkpoint_dir);
  }

  Evaluation run_evaluation() {
    const size_t batch_size = std::min<uint64_t>(flags_.batch_size, images_);
    const Dataset<ImageBatch> batches = cifar10_tutorial_batches(
        files_, {.batch_size = batch_size, .take = images_, .threads = pipeline_threads(flags_)});
    const EvaluationOptions options = {.batch_size = batch_size,
                                       .stop = [] { return interrupted() != 0; }};
    return flags_.moving_averages
               ? evaluate_averaged(*backend_, network_, *variables_, batches, options)
               : recordpipe::evaluate(*backend_, network_, *variables_, batches, options);
  }

  const TutorialEvalFlags flags_;
  const Network network_;
  const std::unique_ptr<Backend> backend_;
  const std::unique_ptr<Variables> variables_;
  EventWriter events_{posix_file_system(), flags_.eval_dir};
  std::vector<std::string> files_;
  uint64_t images_ = 0;
  std::optional<uint64_t> evaluated_step_;
  std::set<std::string> warned_;  // files with a warning
};

}  // namespace

int train_tutorial_cnn(const TutorialTrainFlags& flags) {
  const std::unique_ptr<Communicator> processes = join_processes(flags.sync);
  const std::vector<std::string> files = all_training_files(flags.data_dir);
  const size_t images = cifar10_count(files);
  const size_t share = flags.batch_size * flags.device.num_gpus;  // of a process, in the batch
  const size_t batch_size = share * processes->size();
  if (images < batch_size)
    throw Error(
        {.kind = ErrorKind::invalid_argument,
         .path = flags.data_dir,
         .reason = fmt::format("{} training images don't fill a batch of {}", images, batch_size)});
  const Network network = tutorial_cnn();
  const std::unique_ptr<Backend> backend = make_training_backend(flags.device, *processes);
  const auto batches = [&](uint64_t seed) {
    return cifar10_tutorial_batches(files, {.batch_size = share,
                                            .seed = seed,
                                            .shuffle_buffer = 20'000 + 3 * batch_size,
                                            .distort = true,
                                            .epochs = -1,
                                            .num_shards = processes->size(),
                                            .shard_index = processes->rank(),
                                            .threads = pipeline_threads(flags)});
  };
  const auto schedule = [&](uint64_t) {
    return tutorial_cnn_schedule({.train_images = images, .batch_size = batch_size});
  };
  const TrainerOptions trainer = {.batch_size = share,
                                  .momentum = 0,
                                  .weight_decay = weight_decay,
                                  .average_decay = average_decay};
  const CheckpointSettings settings = {
      {"batch_size", std::to_string(batch_size)},
      {"device", backend->name()},
      {"measure_algorithms", flags.device.measure_algorithms ? "true" : "false"},
      {"num_gpus", std::to_string(flags.device.num_gpus)},
      {"precision", flags.device.precision},
      {"seed", std::to_string(flags.seed)}};
  const TrainingRunOptions options = {.job_dir = flags.train_dir,
                                      .keep_checkpoints = flags.keep_checkpoints,
                                      .checkpoint_steps = flags.checkpoint_steps,
                                      .trainer = trainer,
                                      .seed = flags.seed,
                                      .settings = settings,
                                      .batches = batches,
                                      .schedule = schedule,
                                      .last_step = flags.max_steps,
                                      .stop_grace_seconds = flags.stop_grace_period_secs,
                                      .synthetic = is_synthetic(flags),
                                      .words = LogWords::tutorial,
                                      .log_frequency = flags.log_frequency,
                                      .report = flags.report,
                                      .report_title = "The tutorial's network on CIFAR-10"};
  TrainingRun run(*backend, network, *processes, options);
  log_info("the tutorial's network, {} parameters, on {}", network.parameter_count(),
           backend->name());
  if (flags.log_device_placement) log_placement(*backend, network);
  const int signal = run.train();
  if (processes->rank() == 0) {
    if (signal)
      run.write_interrupted_report();
    else
      run.write_report({});
  }
  return signal ? 128 + signal : 0;
}

int evaluate_tutorial_cnn(const TutorialEvalFlags& flags) {
  TutorialEvaluation evaluation(flags);
  const bool one = names_a_checkpoint(flags.checkpoint_dir);
  try {
    if (one) {
      evaluation.evaluate_one(flags.checkpoint_dir);
    } else {
      evaluation.evaluate_newest();
    }
    if (flags.run_once && !evaluation.has_evaluated())
      throw Error(
          {.kind = ErrorKind::not_found,
           .path = flags.checkpoint_dir,
           .reason = "no checkpoint in this folder",
           .hint = "train first: cifar10_train --train-dir " + printable(flags.checkpoint_dir)});
    if (!flags.run_once && !evaluation.has_evaluated())
      log_info("no checkpoint to evaluate in {} yet; looking again every {} s",
               printable(flags.checkpoint_dir), flags.eval_interval_secs);
    while (!one && !flags.run_once && pause(flags.eval_interval_secs)) evaluation.evaluate_newest();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::cancelled) throw;
    log_info("{}", error.what());
  }
  const int signal = interrupted();
  return signal ? 128 + signal : 0;
}

}  // namespace recordpipe
