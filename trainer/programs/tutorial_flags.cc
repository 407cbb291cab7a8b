#include "trainer/programs/tutorial_flags.h"

#include <functional>
#include <string>

#include "trainer/programs/flag_helpers.h"
#include "trainer/programs/tutorial_spelling.h"

namespace recordpipe {
namespace {

constexpr const char* train_description =
    "Trains the network of TensorFlow's CIFAR-10 tutorial on CIFAR-10's TFRecord files.\n"
    "If the train folder has checkpoints, the run is resumed; they are not deleted. SIGINT,\n"
    "SIGTERM and SIGHUP stop the run and save a checkpoint.";

constexpr const char* train_footer =
    "Flags may be written with _ or -: --train_dir is --train-dir.\n\n"
    "Exit status: 0 success, 1 failure, 2 usage, 129, 130 or 143 interrupted (a checkpoint is\n"
    "saved).";

constexpr const char* eval_description =
    "Evaluates the newest checkpoint of cifar10_train, each image exactly once, and repeats this\n"
    "every --eval-interval-secs for new checkpoints.";

constexpr const char* eval_footer =
    "Flags may be written with _ or -: --eval_dir is --eval-dir.\n"
    "\n"
    "Exit status: 0 success, 1 failure, 2 usage, 129, 130 or 143 interrupted.";

constexpr uint64_t max_images_in_all = 1'000'000'000'000;
constexpr size_t max_devices = 1024;

void add_tutorial_flags(ArgumentParser& app, TutorialFlags& flags) {
  add_number<size_t>(app, "--batch-size", flags.batch_size, 1, max_images,
                     "Images per step, device and process");
  app.add_option("--data-dir", flags.data_dir,
                 "Folder with the files of generate_cifar10_tfrecords");
  add_boolean(app, "--use-fp16", flags.use_fp16,
              "Half precision, as --precision fp16; needs a GPU");
}

void add_our_flags(ArgumentParser& app, TutorialFlags& flags) {
  add_device(app, flags.device.type);
  add_precision(app, flags.device.precision);
  add_threads(app, flags.device.threads, flags.num_inter_threads);
}

// The common frame of the three programs: `add` adds the program's own flags between the common
// ones.
void parse(const std::string& program, const char* description, const char* footer,
           TutorialFlags& flags, const std::function<void(ArgumentParser&)>& add, int argc,
           char** argv) {
  ArgumentParser app(program, description);
  app.set_footer(footer);
  set_up(app);
  add_tutorial_flags(app, flags);
  add(app);
  add_our_flags(app, flags);
  parse_or_throw(app, with_our_spelling(app, arguments_of(argc, argv)), [&] {
    if (flags.use_fp16) {
      if (app.find("--precision")->was_given() && flags.device.precision != "fp16")
        throw ArgumentError("--use-fp16", "--precision says " + flags.device.precision);
      flags.device.precision = "fp16";
    }
    check_gpu_flags(flags.device);
  });
}

void add_train_flags(ArgumentParser& app, TutorialTrainFlags& flags) {
  app.add_option("--train-dir", flags.train_dir, "Folder for checkpoints and event files");
  add_number<uint64_t>(app, "--max-steps", flags.max_steps, 0, kMaxStep,
                       "Total steps, including earlier runs in the train folder");
  add_boolean(app, "--log-device-placement", flags.log_device_placement,
              "Log the device of each operation");
  add_number<uint64_t>(app, "--log-frequency", flags.log_frequency, 1, kMaxStep,
                       "Steps between log lines");
  add_sync(app, flags.sync);
  add_measure_algorithms(app, flags.device.measure_algorithms);
  add_seed(app, flags.seed);
  add_checkpoints(app, flags.checkpoint_steps, flags.keep_checkpoints);
  add_stop_grace(app, flags.stop_grace_period_secs);
  app.add_option("--report", flags.report, "File for a report of the run's curves as an HTML page")
      .type_name("FILE");
}

}  // namespace

TutorialTrainFlags parse_cifar10_train_flags(int argc, char** argv) {
  TutorialTrainFlags flags;
  parse(
      "cifar10_train", train_description, train_footer, flags,
      [&](ArgumentParser& app) { add_train_flags(app, flags); }, argc, argv);
  return flags;
}

TutorialTrainFlags parse_cifar10_multi_gpu_train_flags(int argc, char** argv) {
  TutorialTrainFlags flags;
  parse(
      "cifar10_multi_gpu_train", train_description, train_footer, flags,
      [&](ArgumentParser& app) {
        add_train_flags(app, flags);
        add_number<size_t>(app, "--num-gpus", flags.device.num_gpus, 1, max_devices,
                           "Devices to train on, each with its own batch");
      },
      argc, argv);
  return flags;
}

TutorialEvalFlags parse_cifar10_eval_flags(int argc, char** argv) {
  TutorialEvalFlags flags;
  const auto add = [&](ArgumentParser& app) {
    app.add_option("--eval-dir", flags.eval_dir, "Folder for event files");
    add_choice(app, "--eval-data", flags.eval_data, {"test", "train_eval"},
               "test: the eval files; train_eval: the train and validation files");
    app.add_option(
        "--checkpoint-dir", flags.checkpoint_dir,
        "The train folder of cifar10_train, or a single checkpoint, which is evaluated once");
    add_number<uint64_t>(app, "--eval-interval-secs", flags.eval_interval_secs, 1, max_seconds,
                         "Seconds between evaluations");
    add_number<uint64_t>(app, "--num-examples", flags.num_examples, 1, max_images_in_all,
                         "Maximum number of images to evaluate");
    add_boolean(app, "--run-once", flags.run_once, "Evaluate once and exit");
    add_boolean(app, "--moving-averages", flags.moving_averages,
                "Evaluate the moving averages of the weights instead of the weights");
    add_confusion_matrix(app, flags.confusion_matrix);
  };
  parse("cifar10_eval", eval_description, eval_footer, flags, add, argc, argv);
  return flags;
}

}  // namespace recordpipe
