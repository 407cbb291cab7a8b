#include "trainer/programs/cifar10_training.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "recordpipe/base/error.h"
#include "recordpipe/cifar/cifar10_dataset.h"
#include "recordpipe/cifar/data_folder.h"
#include "recordpipe/trainer/model/resnet.h"
#include "tools/support/process/interrupt.h"
#include "trainer/programs/device.h"
#include "trainer/programs/evaluation.h"
#include "trainer/programs/log.h"
#include "trainer/programs/processes.h"
#include "trainer/programs/training_run.h"

namespace recordpipe {
namespace {

struct Cifar10Data {
  std::vector<std::string> train_files, eval_files, validation_files;
  size_t train_images = 0, eval_images = 0, validation_images = 0;
  bool synthetic = false;
};

bool is_airbench(const Cifar10Flags& flags) { return flags.recipe != "resnet"; }

// Checks all data for training and evaluation before anything is allocated or created. `batch_size`
// is that of a step.
Cifar10Data open_data(const Cifar10Flags& flags, size_t batch_size) {
  Cifar10Data data;
  // Those of the validation split too, unless they are evaluated.
  data.train_files = is_airbench(flags) && flags.validation_steps == 0
                         ? all_training_files(flags.data_dir)
                         : cifar10_files(flags.data_dir, Cifar10Subset::train);
  data.eval_files = cifar10_files(flags.data_dir, Cifar10Subset::eval);
  data.train_images = cifar10_count(data.train_files);
  data.eval_images = cifar10_count(data.eval_files);
  data.synthetic = is_marked_synthetic(posix_file_system(), flags.data_dir);
  const auto refuse = [&](const std::string& reason) {
    throw Error({.kind = ErrorKind::invalid_argument, .path = flags.data_dir, .reason = reason});
  };
  if (data.train_images < batch_size)
    refuse(
        fmt::format("{} training images don't fill a batch of {}", data.train_images, batch_size));
  if (data.eval_images == 0) refuse("there are no images to evaluate on");
  if (flags.validation_steps > 0) {
    data.validation_files = cifar10_files(flags.data_dir, Cifar10Subset::validation);
    data.validation_images = cifar10_count(data.validation_files);
    if (data.validation_images == 0) refuse("the validation split is empty");
  }
  return data;
}

LearningRateSchedule make_schedule(const Cifar10Flags& flags, size_t steps_per_epoch,
                                   uint64_t last_step) {
  if (flags.hyperparameters.schedule == "cosine")
    return cosine_schedule(flags.hyperparameters.learning_rate, flags.warmup_steps, last_step);
  if (flags.hyperparameters.schedule == "one-cycle")
    return one_cycle_schedule(
        {.initial_rate = flags.hyperparameters.learning_rate / 10,
         .peak_rate = flags.hyperparameters.learning_rate,
         .rise_steps =
             std::min(last_step, flags.warmup_steps > 0 ? flags.warmup_steps : last_step * 3 / 10),
         .total_steps = std::max<uint64_t>(1, last_step)});
  if (flags.hyperparameters.schedule == "linear")
    return linear_schedule(flags.hyperparameters.learning_rate, last_step);
  if (flags.hyperparameters.schedule == "triangular")
    return triangular_schedule(flags.hyperparameters.learning_rate, last_step);
  return tutorial_schedule(flags.hyperparameters.learning_rate, steps_per_epoch);
}

// One thread makes batches many times faster than two cores train on them.
size_t pipeline_threads(const Cifar10Flags& flags) {
  return flags.num_inter_threads == 0 ? 1 : flags.num_inter_threads;
}

// This process's share.
Dataset<ImageBatch> training_batches(const Cifar10Flags& flags, const Cifar10Data& data,
                                     const Communicator& processes, uint64_t seed) {
  const size_t in_a_step = flags.hyperparameters.batch_size * processes.size();
  Cifar10Options options = {.batch_size = flags.hyperparameters.batch_size,
                            .seed = seed,
                            // The tutorial's: 0.4 of the images, and three batches.
                            .shuffle_buffer = data.train_images * 2 / 5 + 3 * in_a_step,
                            .epochs = -1,
                            .dtype = DType::uint8,
                            .layout = flags.data_format,
                            .num_shards = processes.size(),
                            .shard_index = processes.rank(),
                            .threads = pipeline_threads(flags)};
  if (is_airbench(flags)) options = airbench_input(options, data.train_images);
  options.distort = flags.use_distortion_for_training;
  options.distortion.cutout = static_cast<int>(flags.cutout);
  return cifar10_batches(data.train_files, options);
}

Dataset<ImageBatch> evaluation_batches(const Cifar10Flags& flags,
                                       const std::vector<std::string>& files) {
  return cifar10_batches(files, {.batch_size = flags.eval_batch_size,
                                 .dtype = DType::uint8,
                                 .layout = flags.data_format,
                                 .threads = pipeline_threads(flags)});
}

// The settings that a resumed run may change; it reports changes.
CheckpointSettings settings_of(const Cifar10Flags& flags, size_t batch_size,
                               const Backend& backend) {
  return {{"batch_norm_decay", fmt::format("{}", flags.hyperparameters.batch_norm_decay)},
          {"batch_norm_epsilon", fmt::format("{}", flags.hyperparameters.batch_norm_epsilon)},
          {"batch_size", std::to_string(batch_size)},
          {"check_numerics", flags.check_numerics ? "true" : "false"},
          {"clip_global_norm", fmt::format("{}", flags.clip_global_norm)},
          {"clip_gradient_norm", fmt::format("{}", flags.clip_gradient_norm)},
          {"cutout", std::to_string(flags.cutout)},
          {"device", backend.name()},
          {"distortion", flags.use_distortion_for_training ? "true" : "false"},
          {"label_smoothing", fmt::format("{}", flags.hyperparameters.label_smoothing)},
          {"learning_rate", fmt::format("{}", flags.hyperparameters.learning_rate)},
          {"learning_rate_schedule", flags.hyperparameters.schedule},
          {"measure_algorithms", flags.device.measure_algorithms ? "true" : "false"},
          {"momentum", fmt::format("{}", flags.hyperparameters.momentum)},
          {"moving_average_decay", fmt::format("{}", flags.moving_average_decay)},
          {"num_gpus", std::to_string(flags.device.num_gpus)},
          {"precision", flags.device.precision},
          {"recipe", flags.recipe},
          {"seed", std::to_string(flags.seed)},
          {"sync_batch_norm", flags.device.sync_batch_norm ? "true" : "false"},
          {"test_time_augmentation", name_of(flags.augmentation)},
          {"warmup_steps", std::to_string(flags.warmup_steps)},
          {"weight_decay", fmt::format("{}", flags.hyperparameters.weight_decay)}};
}

// Without files: for a look at its cost.
Network make_network(const Cifar10Flags& flags, const std::vector<std::string>& train_files) {
  if (is_airbench(flags)) return airbench_network(flags.hyperparameters, train_files);
  return resnet({.layers = flags.num_layers,
                 .batch_norm_decay = flags.hyperparameters.batch_norm_decay,
                 .batch_norm_epsilon = flags.hyperparameters.batch_norm_epsilon,
                 .label_smoothing = flags.hyperparameters.label_smoothing});
}

TrainerOptions trainer_options(const Cifar10Flags& flags) {
  TrainerOptions options = {.batch_size = flags.hyperparameters.batch_size,
                            .momentum = flags.hyperparameters.momentum,
                            .weight_decay = flags.hyperparameters.weight_decay};
  if (is_airbench(flags)) options = airbench_trainer(flags.hyperparameters);
  options.check_numerics = flags.check_numerics;
  if (flags.clip_gradient_norm > 0) options.clip_gradient_norm = flags.clip_gradient_norm;
  if (flags.clip_global_norm > 0) options.clip_global_norm = flags.clip_global_norm;
  if (flags.moving_average_decay > 0) {
    options.average_decay = flags.moving_average_decay;
    options.lookahead.reset();
  }
  return options;
}

}  // namespace

int train_cifar10(const Cifar10Flags& flags) {
  if (!flags.analyze_model.empty()) {
    print_analysis(make_network(flags, {}), flags.analyze_model);
    return 0;
  }
  const std::unique_ptr<Communicator> processes = join_processes(flags.sync);
  const size_t batch_size = flags.hyperparameters.batch_size * processes->size();
  const Cifar10Data data = open_data(flags, batch_size);
  const std::unique_ptr<Backend> backend = make_training_backend(flags.device, *processes);
  const Network network = make_network(flags, data.train_files);
  const std::string width = fmt::format("Airbench of width {}", flags.hyperparameters.width);
  TrainingRun run(
      *backend, network, *processes,
      {.job_dir = flags.job_dir,
       .keep_checkpoints = flags.keep_checkpoints,
       .checkpoint_steps = flags.checkpoint_steps,
       .trainer = trainer_options(flags),
       .seed = flags.seed,
       .settings = settings_of(flags, batch_size, *backend),
       .batches = [&](uint64_t seed) { return training_batches(flags, data, *processes, seed); },
       .schedule =
           [&](uint64_t last_step) {
             return make_schedule(flags, data.train_images / batch_size, last_step);
           },
       .schedule_has_end = flags.hyperparameters.schedule != "piecewise",
       .last_step = flags.train_steps,
       .minutes = flags.minutes,
       .nan = flags.stop_on_nan ? NanPolicy::stop : NanPolicy::fail,
       .stop_grace_seconds = flags.stop_grace_period_secs,
       .synthetic = data.synthetic,
       .log_frequency = flags.log_frequency,
       .validation_steps = flags.validation_steps,
       .validation_batches = [&] { return evaluation_batches(flags, data.validation_files); },
       .eval_batch_size =
           std::min(flags.eval_batch_size, std::max(data.eval_images, data.validation_images)),
       .augmentation = flags.augmentation,
       .summary_steps = flags.summary_steps,
       .profile_steps = flags.profile_steps,
       .report = flags.report,
       .report_title = (is_airbench(flags) ? width : fmt::format("ResNet-{}", flags.num_layers)) +
                       " on CIFAR-10"});
  log_info("{}, {} parameters, on {}",
           is_airbench(flags) ? width : fmt::format("ResNet of {} layers", flags.num_layers),
           network.parameter_count(), backend->name());
  if (flags.log_device_placement) log_placement(*backend, network);
  const int signal = run.train();
  if (processes->rank() > 0) return signal ? 128 + signal : 0;
  if (signal) {
    run.write_interrupted_report();
    return 128 + signal;
  }
  try {
    log_info("evaluating {} images", data.eval_images);
    const Evaluation evaluation = run.evaluate(evaluation_batches(flags, data.eval_files));
    if (!run.checkpoint().empty()) fmt::print("checkpoint {}\n", printable(run.checkpoint()));
    if (flags.confusion_matrix) print_confusion(evaluation.confusion);
    print_accuracy(evaluation.total, run.step(), data.synthetic, flags.augmentation);
    run.write_report(FinalEvaluation{.step = run.step(), .evaluation = evaluation});
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::cancelled) throw;
    log_info("{}; {} for the accuracy", error.what(), run.how_to_continue());
    run.write_interrupted_report();
    return 128 + interrupted();
  }
  return 0;
}

}  // namespace recordpipe
