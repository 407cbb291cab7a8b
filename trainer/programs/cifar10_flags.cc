#include "trainer/programs/cifar10_flags.h"

#include <charconv>
#include <map>
#include <string>

#include <CLI/CLI.hpp>

namespace recordpipe {
namespace {

constexpr const char* description =
    "Trains a ResNet on CIFAR-10's TFRecord files and evaluates it on the eval split.\n"
    "A job folder that holds checkpoints is resumed. SIGINT and SIGTERM save a checkpoint.";

constexpr const char* footer =
    "Every eval image is counted exactly once, whatever the batch size: the number of images need\n"
    "not be a multiple of it.\n\n"
    "Exit status: 0 success, 1 failure, 2 usage, 130 or 143 interrupted (a checkpoint is "
    "saved).\n\n"
    "Example:\n"
    "  cifar10_main --data-dir data/cifar10 --job-dir /tmp/resnet8 --num-layers 8 --minutes 5 \\\n"
    "      --learning-rate-schedule cosine --warmup-steps 200";

// "True", "false", "1", ...: the tutorial's own flags took any word for true.
void add_boolean(CLI::App& app, const std::string& name, bool& value, const std::string& text) {
  app.add_option(name, value, text)
      ->type_name("true|false")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, std::string>{
              {"true", "true"}, {"false", "false"}, {"1", "true"}, {"0", "false"}},
          CLI::ignore_case));
}

void add_data_flags(CLI::App& app, Cifar10Flags& flags) {
  app.add_option("--data-dir", flags.data_dir, "Folder with {train,eval}.tfrecords")->required();
  app.add_option("--job-dir", flags.job_dir, "Folder for checkpoints")->required();
  app.add_option("--train-batch-size", flags.train_batch_size, "Images in a training step")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--eval-batch-size", flags.eval_batch_size, "Images evaluated at once")
      ->check(CLI::Range(1, 1 << 20));
  add_boolean(app, "--use-distortion-for-training", flags.use_distortion_for_training,
              "Random crops and flips");
  app.add_option("--data-format", flags.data_format, "Layout in which batches are made")
      ->type_name("channels_first|channels_last")
      ->transform(CLI::CheckedTransformer(std::map<std::string, Layout>{
          {"channels_first", Layout::nchw}, {"channels_last", Layout::nhwc}}));
}

void add_model_flags(CLI::App& app, Cifar10Flags& flags) {
  app.add_option("--num-layers", flags.num_layers, "6 n + 2: 8, 14, 20, 32, 44, 56, 110, ...")
      ->check([](const std::string& text) {
        size_t layers = 0;
        std::from_chars(text.data(), text.data() + text.size(), layers);
        return layers >= 8 && layers <= 2000 && (layers - 2) % 6 == 0
                   ? std::string()
                   : "(num-layers - 2) must be a positive multiple of 6";
      });
  app.add_option("--batch-norm-decay", flags.batch_norm_decay, "Of the moving statistics")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--batch-norm-epsilon", flags.batch_norm_epsilon, "Added to the variance")
      ->check(CLI::PositiveNumber);
}

void add_training_flags(CLI::App& app, Cifar10Flags& flags) {
  auto* steps = app.add_option("--train-steps", flags.train_steps,
                               "Steps in all, those of earlier runs in the job folder included");
  app.add_option("--minutes", flags.minutes,
                 "Train as many steps as fit into so many minutes; the speed is measured first, "
                 "and the number of steps is printed")
      ->check(CLI::PositiveNumber)
      ->excludes(steps);
  app.add_option("--learning-rate", flags.learning_rate, "At its highest")
      ->check(CLI::PositiveNumber);
  app.add_option(
         "--learning-rate-schedule", flags.learning_rate_schedule,
         "piecewise: times 0.1, 0.01, 0.002 after 82, 123, 300 epochs; cosine: down to zero "
         "at the last step")
      ->check(CLI::IsMember({"piecewise", "cosine"}));
  app.add_option("--warmup-steps", flags.warmup_steps, "Linear rise before the cosine");
  app.add_option("--momentum", flags.momentum, "Of the gradient descent")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--weight-decay", flags.weight_decay, "Of the L2 penalty on all trained variables")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--label-smoothing", flags.label_smoothing, "Probability spread over all classes")
      ->check(CLI::Range(0.0, 0.999));
  app.add_option("--seed", flags.seed, "Of initial weights, order and distortions");
}

void add_run_flags(CLI::App& app, Cifar10Flags& flags) {
  app.add_option("--device", flags.device, "cpu: oneDNN; reference: plain loops, slow")
      ->check(CLI::IsMember({"cpu", "reference"}));
  // The tutorial's flags for devices that this build doesn't have.
  app.add_option("--num-gpus", "Must be 0: this build has no GPU backend")
      ->default_str("0")
      ->check([](const std::string& text) {
        return text == "0" ? std::string() : "this build has no GPU backend: leave it 0";
      });
  app.add_option("--variable-strategy", "Must be CPU: this build has no GPU backend")
      ->default_str("CPU")
      ->check([](const std::string& text) {
        return text == "CPU" ? std::string() : "this build has no GPU backend: leave it CPU";
      });
  app.add_option("--num-intra-threads", flags.num_intra_threads,
                 "Threads that compute; 0: one for each core");
  app.add_option("--num-inter-threads", flags.num_inter_threads,
                 "Threads that make batches; 0: one, which is plenty");
  app.add_option("--checkpoint-steps", flags.checkpoint_steps, "Steps between two checkpoints")
      ->check(CLI::PositiveNumber);
  app.add_option("--keep-checkpoints", flags.keep_checkpoints, "How many are kept")
      ->check(CLI::PositiveNumber);
  app.add_option("--log-frequency", flags.log_frequency, "Steps between two lines of the log")
      ->check(CLI::PositiveNumber);
}

}  // namespace

Cifar10Flags parse_cifar10_flags(int argc, char** argv) {
  Cifar10Flags flags;
  CLI::App app(description, "cifar10_main");
  app.footer(footer);
  app.option_defaults()->always_capture_default();
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  add_data_flags(app, flags);
  add_model_flags(app, flags);
  add_training_flags(app, flags);
  add_run_flags(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    throw UsageError{app.exit(error) == 0 ? 0 : 2};
  }
  return flags;
}

}  // namespace recordpipe
