#include "trainer/programs/cifar10_flags.h"

#include <charconv>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

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

constexpr size_t most_images = 1 << 20;  // in a batch
constexpr uint64_t most_steps = 1'000'000'000'000;
constexpr size_t most_threads = 1024;
constexpr double smallest = 1e-12, largest = 1e6;  // of numbers without natural limits

// The number that is the whole of `text`. Not CLI11's: that takes -1 for 2^64 - 1, 010 for 8, and
// NaN for a number in any range.
template <class Number>
std::optional<Number> parse_number(const std::string& text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

// An option whose value is a number in [least, most] that `fits`.
template <class Number>
CLI::Option* add_number(
    CLI::App& app, const std::string& name, Number& value, Number least, Number most,
    const std::string& text, const std::function<bool(Number)>& fits = [](Number) { return true; },
    const std::string& expected = std::is_integral_v<Number> ? "a whole number" : "a number") {
  return app
      .add_option_function<std::string>(
          name,
          [=, &value](const std::string& given) {
            const auto number = parse_number<Number>(given);
            if (!number || !(*number >= least && *number <= most) || !fits(*number))
              throw CLI::ValidationError(
                  name, fmt::format("'{}' is not {} from {} to {}", given, expected, least, most));
            value = *number;
          },
          text)
      ->type_name("N")
      ->default_str(fmt::format("{}", value));
}

// "True", "false", "1", ...: the tutorial's own flags took any word for true.
void add_boolean(CLI::App& app, const std::string& name, bool& value, const std::string& text) {
  app.add_option_function<std::string>(
         name,
         [&value](const std::string& word) {
           value = word == "1" || word.front() == 't' || word.front() == 'T';
         },
         text)
      ->type_name("true|false")
      ->default_str(value ? "true" : "false")
      ->check(CLI::IsMember({"true", "false", "1", "0"}, CLI::ignore_case).description(""));
}

void add_data_flags(CLI::App& app, Cifar10Flags& flags) {
  app.add_option("--data-dir", flags.data_dir,
                 "Folder with train and eval files, as generate_cifar10_tfrecords writes them")
      ->required();
  app.add_option("--job-dir", flags.job_dir, "Folder for checkpoints")->required();
  add_number<size_t>(app, "--train-batch-size", flags.train_batch_size, 1, most_images,
                     "Images in a training step");
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
              "Name the variable whose gradient is no number first");
  add_boolean(app, "--stop-on-nan", flags.stop_on_nan,
              "End the training, rather than fail, where the loss is no number");
  add_number<uint64_t>(app, "--seed", flags.seed, 0, std::numeric_limits<uint64_t>::max(),
                       "Of initial weights, order and distortions");
}

void add_run_flags(CLI::App& app, Cifar10Flags& flags) {
  app.add_option("--device", flags.device, "cpu: oneDNN; reference: plain loops, slow")
      ->check(CLI::IsMember({"cpu", "reference"}));
  // The tutorial's flags for devices that this build doesn't have.
  app.add_option("--num-gpus", "The tutorial's; must be 0: this build has no GPU backend")
      ->default_str("0")
      ->check([](const std::string& text) {
        return text == "0" ? std::string() : "this build has no GPU backend: leave it 0";
      });
  app.add_option("--variable-strategy",
                 "The tutorial's; must be CPU: this build has no GPU backend")
      ->default_str("CPU")
      ->check([](const std::string& text) {
        return text == "CPU" ? std::string() : "this build has no GPU backend: leave it CPU";
      });
  add_number<size_t>(app, "--num-intra-threads", flags.num_intra_threads, 0, most_threads,
                     "Threads that compute; 0: one for each core");
  add_number<size_t>(app, "--num-inter-threads", flags.num_inter_threads, 0, most_threads,
                     "Threads that make batches; 0: one, which is plenty");
  add_number<uint64_t>(app, "--checkpoint-steps", flags.checkpoint_steps, 1, most_steps,
                       "Steps between two checkpoints");
  add_number<size_t>(app, "--keep-checkpoints", flags.keep_checkpoints, 1, 1'000'000,
                     "How many are kept");
  add_number<uint64_t>(app, "--validation-steps", flags.validation_steps, 0, most_steps,
                       "Steps between two evaluations on the validation split, the best of which "
                       "is kept as best.safetensors; 0: none");
  add_number<uint64_t>(app, "--log-frequency", flags.log_frequency, 1, most_steps,
                       "Steps between two lines of the log");
}

}  // namespace

Cifar10Flags parse_cifar10_flags(int argc, char** argv) {
  Cifar10Flags flags;
  CLI::App app(description, "cifar10_main");
  app.footer(footer);
  app.set_version_flag("--version", std::string("cifar10_main ") + RECORDPIPE_VERSION);
  app.option_defaults()->always_capture_default();
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  add_data_flags(app, flags);
  add_model_flags(app, flags);
  add_training_flags(app, flags);
  add_run_flags(app, flags);
  try {
    app.parse(argc, argv);
    if (flags.warmup_steps > 0 && flags.learning_rate_schedule == "piecewise")
      throw CLI::ValidationError("--warmup-steps",
                                 "goes with --learning-rate-schedule cosine and one-cycle");
  } catch (const CLI::ParseError& error) {
    throw UsageError{app.exit(error) == 0 ? 0 : 2};
  }
  return flags;
}

}  // namespace recordpipe
