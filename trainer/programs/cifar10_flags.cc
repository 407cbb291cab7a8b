#include "trainer/programs/cifar10_flags.h"

#include <string>

#include <CLI/CLI.hpp>

#include "trainer/programs/flag_helpers.h"
#include "trainer/programs/tutorial_spelling.h"

namespace recordpipe {
namespace {

constexpr const char* description =
    "Trains a ResNet on CIFAR-10's TFRecord files and evaluates it on the eval split.\n"
    "A job folder that holds checkpoints is resumed. SIGINT, SIGTERM and SIGHUP save one more.";

constexpr const char* footer =
    "Every eval image is counted exactly once, whatever the batch size: the number of images need\n"
    "not be a multiple of it.\n\n"
    "Flags may be written with _ or -: --data_dir is --data-dir.\n\n"
    "Exit status: 0 success, 1 failure, 2 usage, 129, 130 or 143 interrupted (a "
    "checkpoint is saved).\n\n"
    "Example:\n"
    "  cifar10_main --data-dir data/cifar10 --job-dir /tmp/resnet8 --num-layers 8 --minutes 5 \\\n"
    "      --learning-rate-schedule cosine --warmup-steps 200";

void add_data_flags(CLI::App& app, Cifar10Flags& flags) {
  app.add_option("--data-dir", flags.data_dir,
                 "Folder with train and eval files, as generate_cifar10_tfrecords writes them")
      ->required();
  app.add_option("--job-dir", flags.job_dir, "Folder for checkpoints")->required();
  add_number<size_t>(app, "--train-batch-size", flags.train_batch_size, 1, most_images,
                     "Images in a training step; with --sync, of each process");
  add_number<size_t>(app, "--eval-batch-size", flags.eval_batch_size, 1, most_images,
                     "Images evaluated at once");
  add_boolean(app, "--use-distortion-for-training", flags.use_distortion_for_training,
              "Random crops and flips");
  app.add_option_function<std::string>(
         "--data-format",
         [&flags](const std::string& name) {
           flags.data_format = name == "channels_first" ? Layout::nchw : Layout::nhwc;
         },
         "Layout in which batches are made")
      ->type_name("channels_first|channels_last")
      ->default_str(flags.data_format == Layout::nchw ? "channels_first" : "channels_last")
      ->check(CLI::IsMember({"channels_first", "channels_last"}).description(""));
}

void add_model_flags(CLI::App& app, Cifar10Flags& flags) {
  add_number<size_t>(
      app, "--num-layers", flags.num_layers, 8, 2000, "6 n + 2: 8, 14, 20, 32, 44, 56, 110, ...",
      [](size_t layers) { return (layers - 2) % 6 == 0; }, "2 more than a multiple of 6");
  add_number(app, "--batch-norm-decay", flags.batch_norm_decay, 0.0, 1.0,
             "Of the moving statistics");
  add_number(app, "--batch-norm-epsilon", flags.batch_norm_epsilon, smallest, largest,
             "Added to the variance");
}

void add_training_flags(CLI::App& app, Cifar10Flags& flags) {
  auto* steps =
      add_number<uint64_t>(app, "--train-steps", flags.train_steps, 0, most_steps,
                           "Steps in all, those of earlier runs in the job folder included");
  add_number(app, "--minutes", flags.minutes, 0.001, largest,
             "Train as many steps as fit into so many minutes; the speed is measured first, "
             "and the number of steps is printed")
      ->default_str("")
      ->excludes(steps);
  add_number(app, "--learning-rate", flags.learning_rate, smallest, largest, "At its highest");
  app.add_option(
         "--learning-rate-schedule", flags.learning_rate_schedule,
         "piecewise: times 0.1, 0.01, 0.002 after 82, 123, 300 epochs; cosine: down to zero "
         "at the last step; one-cycle: up from a tenth, straight, then straight down to zero")
      ->check(CLI::IsMember({"piecewise", "cosine", "one-cycle"}));
  add_number<uint64_t>(app, "--warmup-steps", flags.warmup_steps, 0, most_steps,
                       "Linear rise before the cosine; of one-cycle, 0: 3 steps of 10");
  add_number(app, "--momentum", flags.momentum, 0.0, 1.0, "Of the gradient descent");
  add_number(app, "--weight-decay", flags.weight_decay, 0.0, largest,
             "Of the L2 penalty on all trained variables");
  add_number(app, "--label-smoothing", flags.label_smoothing, 0.0, 0.999,
             "Probability spread over all classes");
  add_number(app, "--moving-average-decay", flags.moving_average_decay, 0.0, 0.9999999,
             "Evaluate with averages of the weights, of this decay; 0: with the weights");
  add_number(app, "--clip-gradient-norm", flags.clip_gradient_norm, 0.0, largest,
             "Scale each longer gradient down to this norm; 0: none");
  add_number(app, "--clip-global-norm", flags.clip_global_norm, 0.0, largest,
             "Scale all gradients down to this norm together; 0: none");
  add_boolean(app, "--check-numerics", flags.check_numerics,
              "Name the first variable whose gradient is NaN or infinite");
  add_boolean(app, "--stop-on-nan", flags.stop_on_nan,
              "End the training, rather than fail, if the loss is NaN or infinite");
  add_seed(app, flags.seed);
}

void add_run_flags(CLI::App& app, Cifar10Flags& flags) {
  add_device(app, flags.device);
  add_precision(app, flags.precision);
  add_number<size_t>(app, "--num-gpus", flags.num_gpus, 0, 1024,
                     "GPUs that each batch is dealt out to; on another device towers, which take "
                     "turns");
  add_sync(app, flags.sync);
  add_boolean(app, "--sync-batch-norm", flags.sync_batch_norm,
              "Batch norm takes the statistics of the images of all towers and processes, not of "
              "each one's own");
  app.add_option("--variable-strategy", flags.variable_strategy,
                 "Where several GPUs, each with a copy of the variables, have their gradients "
                 "averaged: CPU: on the host; GPU: by NCCL; by default GPU where NCCL is there. "
                 "Without GPUs all is on the CPU")
      ->check(CLI::IsMember({"CPU", "GPU"}));
  add_threads(app, flags.num_intra_threads, flags.num_inter_threads);
  add_checkpoints(app, flags.checkpoint_steps, flags.keep_checkpoints);
  add_number<uint64_t>(app, "--validation-steps", flags.validation_steps, 0, most_steps,
                       "Steps between two evaluations on the validation split, the best of which "
                       "is kept as best.safetensors; 0: none");
  add_number<uint64_t>(app, "--summary-steps", flags.summary_steps, 0, most_steps,
                       "Steps between two summaries for TensorBoard in the job folder; 0: none");
  add_number<uint64_t>(
      app, "--profile-steps", flags.profile_steps, 0, most_steps,
      "Steps between two timelines, timeline-STEP.json, in the job folder; 0: none");
  app.add_option("--report", flags.report, "Write the run as an HTML page to this file");
  add_boolean(app, "--log-device-placement", flags.log_device_placement,
              "Say where each operation and variable lives");
  add_confusion_matrix(app, flags.confusion_matrix);
  app.add_option("--analyze-model", flags.analyze_model,
                 "Print the network's variables, operations and what they cost, and end")
      ->check(CLI::IsMember({"text", "json"}));
  add_number<uint64_t>(app, "--log-frequency", flags.log_frequency, 1, most_steps,
                       "Steps between two lines of the log");
}

}  // namespace

Cifar10Flags parse_cifar10_flags(int argc, char** argv) {
  Cifar10Flags flags;
  CLI::App app(description, "cifar10_main");
  app.footer(footer);
  set_up(app);
  add_data_flags(app, flags);
  add_model_flags(app, flags);
  add_training_flags(app, flags);
  add_run_flags(app, flags);
  parse_or_throw(app, with_our_spelling(app, arguments_of(argc, argv)), [&] {
    if (flags.variable_strategy == "GPU" && flags.device != "cuda" && flags.device != "auto")
      throw CLI::ValidationError("--variable-strategy", "GPU needs --device cuda");
    check_precision(flags.precision, flags.device);
    // The loss scale grows until gradients overflow occasionally; those steps are skipped.
    const bool checks =
        flags.check_numerics || flags.clip_gradient_norm > 0 || flags.clip_global_norm > 0;
    if (flags.precision == "fp16" && checks)
      throw CLI::ValidationError("--precision",
                                 "fp16 goes with neither --check-numerics nor clipping, which end "
                                 "at the first gradient that is no number: take bf16");
    if (flags.num_gpus > 1 && flags.train_batch_size % flags.num_gpus != 0)
      throw CLI::ValidationError("--train-batch-size", "must be a multiple of --num-gpus");
    if (flags.warmup_steps > 0 && flags.learning_rate_schedule == "piecewise")
      throw CLI::ValidationError("--warmup-steps",
                                 "goes with --learning-rate-schedule cosine and one-cycle");
  });
  return flags;
}

}  // namespace recordpipe
