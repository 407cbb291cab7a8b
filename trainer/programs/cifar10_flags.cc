#include "trainer/programs/cifar10_flags.h"

#include <string>

#include "trainer/programs/flag_helpers.h"
#include "trainer/programs/tutorial_spelling.h"

namespace recordpipe {
namespace {

constexpr const char* description =
    "Trains a network on CIFAR-10's TFRecord files and evaluates it on the eval split: a ResNet, "
    "or\n"
    "with --recipe airbench a network that trains faster.\n"
    "If the job folder has checkpoints, the run is resumed. SIGINT, SIGTERM and SIGHUP stop the\n"
    "run and save a checkpoint.";

constexpr const char* footer =
    "Every eval image is counted exactly once, for any --eval-batch-size.\n\n"
    "Flags may be written with _ or -: --data_dir is --data-dir.\n\n"
    "Exit status: 0 success, 1 failure, 2 usage, 129, 130 or 143 interrupted (a "
    "checkpoint is saved).\n\n"
    "Example:\n"
    "  cifar10_main --data-dir data/cifar10 --job-dir /tmp/resnet8 --num-layers 8 --minutes 5 \\\n"
    "      --learning-rate-schedule cosine --warmup-steps 200";

void add_data_flags(ArgumentParser& app, Cifar10Flags& flags) {
  app.add_option("--data-dir", flags.data_dir,
                 "Folder with the train and eval files of generate_cifar10_tfrecords")
      .required();
  app.add_option("--job-dir", flags.job_dir, "Folder for checkpoints").required();
  add_number<size_t>(app, "--train-batch-size", flags.hyperparameters.batch_size, 1, max_images,
                     "Images per training step; with --sync, per process");
  add_number<size_t>(app, "--eval-batch-size", flags.eval_batch_size, 1, max_images,
                     "Images evaluated at once");
  add_boolean(app, "--use-distortion-for-training", flags.use_distortion_for_training,
              "Random crops and flips");
  add_number<size_t>(app, "--cutout", flags.cutout, 0, 32,
                     "Edge of a grey square at a random place of each distorted image; 0: none");
  app.add_option_function(
         "--data-format",
         [&flags](const std::string& name) {
           flags.data_format = name == "channels_first" ? Layout::nchw : Layout::nhwc;
         },
         "Memory layout of batches")
      .one_of({"channels_first", "channels_last"})
      .default_text(flags.data_format == Layout::nchw ? "channels_first" : "channels_last");
}

// --recipe is read first: it decides the defaults of other flags.
Cifar10Flags defaults_for(const std::vector<std::string>& arguments) {
  Cifar10Flags flags;
  for (size_t i = 0; i < arguments.size(); ++i)
    for (const char* recipe : {"airbench", "airbench-sgd"})
      if (arguments[i] == std::string("--recipe=") + recipe ||
          (arguments[i] == recipe && i > 0 && arguments[i - 1] == "--recipe"))
        flags.recipe = recipe;
  if (flags.recipe == "resnet") return flags;
  flags.hyperparameters = flags.recipe == "airbench" ? Hyperparameters() : airbench_without_muon();
  flags.train_steps = 782;  // 8 epochs of 50,000 images
  flags.augmentation = TestTimeAugmentation::flip_and_translate;
  flags.log_frequency = 20;
  return flags;
}

void add_model_flags(ArgumentParser& app, Cifar10Flags& flags) {
  add_choice(app, "--recipe", flags.recipe, {"resnet", "airbench", "airbench-sgd"},
             "The network, its input and the defaults of other flags, which --help shows");
  add_number<size_t>(app, "--width", flags.hyperparameters.width, 0, 1024,
                     "Channels of airbench's first block; the others have four times as many");
  add_number<size_t>(
      app, "--num-layers", flags.num_layers, 8, 2000, "6 n + 2: 8, 14, 20, 32, 44, 56, 110, ...",
      [](size_t layers) { return (layers - 2) % 6 == 0; }, "2 more than a multiple of 6");
  add_number(app, "--batch-norm-decay", flags.hyperparameters.batch_norm_decay, 0.0, 1.0,
             "Decay of the moving statistics");
  add_number(app, "--batch-norm-epsilon", flags.hyperparameters.batch_norm_epsilon, smallest,
             largest, "Constant added to the variance");
}

void add_training_flags(ArgumentParser& app, Cifar10Flags& flags) {
  const Option steps =
      add_number<uint64_t>(app, "--train-steps", flags.train_steps, 0, kMaxStep,
                           "Total steps, including earlier runs in the job folder");
  add_number(app, "--minutes", flags.minutes, 0.001, largest,
             "Train for this time: the speed is measured first, and the resulting number of "
             "steps is printed")
      .default_text("")
      .excludes(steps);
  add_number(app, "--learning-rate", flags.hyperparameters.learning_rate, smallest, largest,
             "Peak learning rate");
  add_choice(app, "--learning-rate-schedule", flags.hyperparameters.schedule,
             {"piecewise", "cosine", "one-cycle", "linear", "triangular"},
             "piecewise: times 0.1, 0.01, 0.002 after 82, 123, 300 epochs; cosine: down to zero "
             "at the last step; one-cycle: linear from a tenth to the peak, then linear to zero; "
             "linear: from the peak to zero; triangular: from a fifth to the peak at 23% of the "
             "steps, then to 7%");
  add_number<uint64_t>(
      app, "--warmup-steps", flags.warmup_steps, 0, kMaxStep,
      "Steps of linear warm-up for cosine and one-cycle (one-cycle with 0: 30% of all "
      "steps)");
  add_number(app, "--momentum", flags.hyperparameters.momentum, 0.0, 1.0,
             "Momentum of gradient descent; airbench's is Nesterov's, and not that of Muon");
  add_number(app, "--weight-decay", flags.hyperparameters.weight_decay, 0.0, largest,
             "Factor of the L2 penalty on all trained variables");
  add_number(app, "--label-smoothing", flags.hyperparameters.label_smoothing, 0.0, 0.999,
             "Probability distributed over all classes");
  app.add_option_function(
         "--test-time-augmentation",
         [&flags](const std::string& name) {
           flags.augmentation = name == "none"   ? TestTimeAugmentation::none
                                : name == "flip" ? TestTimeAugmentation::flip
                                                 : TestTimeAugmentation::flip_and_translate;
         },
         "Average the logits of the evaluation over copies of each image")
      .one_of({"none", "flip", "flip-and-translate"})
      .default_text(name_of(flags.augmentation));
  add_number(app, "--moving-average-decay", flags.moving_average_decay, 0.0, 0.9999999,
             "Evaluate moving averages of the weights with this decay; 0: the weights themselves");
  add_number(app, "--clip-gradient-norm", flags.clip_gradient_norm, 0.0, largest,
             "Clip each gradient to this norm; 0: no clipping");
  add_number(app, "--clip-global-norm", flags.clip_global_norm, 0.0, largest,
             "Clip all gradients to this global norm; 0: no clipping");
  add_boolean(app, "--check-numerics", flags.check_numerics,
              "Fail at the first gradient that is NaN or infinite, and name its variable");
  add_boolean(app, "--stop-on-nan", flags.stop_on_nan,
              "Stop training, instead of failing, if the loss is NaN or infinite");
  add_seed(app, flags.seed);
}

void add_run_flags(ArgumentParser& app, Cifar10Flags& flags) {
  TrainingDevice& device = flags.device;
  add_device(app, device.type);
  add_precision(app, device.precision);
  add_measure_algorithms(app, device.measure_algorithms);
  add_number<size_t>(app, "--num-gpus", device.num_gpus, 0, 1024,
                     "GPUs that share each batch; 0: none, as --device cpu. On other devices "
                     "towers, which run one after the other");
  add_sync(app, flags.sync);
  add_boolean(app, "--sync-batch-norm", device.sync_batch_norm,
              "Batch norm uses the statistics of all towers and processes together");
  add_choice(app, "--variable-strategy", device.variable_strategy, {"CPU", "GPU"},
             "Where the gradients of several GPUs are averaged: CPU (on the host) or GPU (by "
             "NCCL). Default: GPU if NCCL is available. Every GPU has a copy of the variables");
  add_threads(app, device.threads, flags.num_inter_threads);
  add_stop_grace(app, flags.stop_grace_period_secs);
  add_checkpoints(app, flags.checkpoint_steps, flags.keep_checkpoints);
  add_number<uint64_t>(
      app, "--validation-steps", flags.validation_steps, 0, kMaxStep,
      "Steps between evaluations on the validation split; the best result is saved as "
      "best.safetensors; 0: none");
  add_number<uint64_t>(app, "--summary-steps", flags.summary_steps, 0, kMaxStep,
                       "Steps between summaries for TensorBoard in the job folder; 0: none");
  add_number<uint64_t>(app, "--profile-steps", flags.profile_steps, 0, kMaxStep,
                       "Steps between timelines, timeline-STEP.json, in the job folder; 0: none");
  app.add_option("--report", flags.report, "File for a report of the run as an HTML page");
  add_boolean(app, "--log-device-placement", flags.log_device_placement,
              "Log the device of each operation and variable");
  add_confusion_matrix(app, flags.confusion_matrix);
  add_choice(app, "--analyze-model", flags.analyze_model, {"text", "json"},
             "Print the network's variables, operations and their cost, and exit");
  add_number<uint64_t>(app, "--log-frequency", flags.log_frequency, 1, kMaxStep,
                       "Steps between log lines");
}

}  // namespace

std::string name_of(TestTimeAugmentation augmentation) {
  return augmentation == TestTimeAugmentation::none   ? "none"
         : augmentation == TestTimeAugmentation::flip ? "flip"
                                                      : "flip-and-translate";
}

Cifar10Flags parse_cifar10_flags(int argc, char** argv) {
  const std::vector<std::string> arguments = arguments_of(argc, argv);
  Cifar10Flags flags = defaults_for(arguments);
  ArgumentParser app("cifar10_main", description);
  app.set_footer(footer);
  set_up(app);
  add_data_flags(app, flags);
  add_model_flags(app, flags);
  add_training_flags(app, flags);
  add_run_flags(app, flags);
  parse_or_throw(app, with_our_spelling(app, arguments), [&] {
    TrainingDevice& device = flags.device;
    if (device.num_gpus == 0) {
      if (device.type == "cuda") throw ArgumentError("--num-gpus", "0 excludes --device cuda");
      if (device.type == "auto") device.type = "cpu";
      device.num_gpus = 1;
    }
    if (device.variable_strategy == "GPU" && device.type != "cuda" && device.type != "auto")
      throw ArgumentError("--variable-strategy", "GPU needs --device cuda");
    check_gpu_flags(device);
    // The loss scale grows until gradients overflow occasionally; those steps are skipped.
    const bool checks =
        flags.check_numerics || flags.clip_gradient_norm > 0 || flags.clip_global_norm > 0;
    if (device.precision == "fp16" && checks)
      throw ArgumentError("--precision",
                          "fp16 can't be combined with --check-numerics or clipping, which fail "
                          "at the first gradient that is not finite: use bf16");
    if (device.num_gpus > 1 && flags.hyperparameters.batch_size % device.num_gpus != 0)
      throw ArgumentError("--train-batch-size", "must be a multiple of --num-gpus");
    if ((flags.recipe != "resnet") != (flags.hyperparameters.width > 0))
      throw ArgumentError("--width", "needs --recipe airbench, and a number above 0");
    const bool warms_up =
        flags.hyperparameters.schedule == "cosine" || flags.hyperparameters.schedule == "one-cycle";
    if (flags.warmup_steps > 0 && !warms_up)
      throw ArgumentError("--warmup-steps", "needs --learning-rate-schedule cosine or one-cycle");
  });
  return flags;
}

}  // namespace recordpipe
