// cifar10_speedrun: the shortest way from TFRecord files to an accuracy, and the time that it
// takes, from exec() on. cifar10_main --recipe airbench makes the same steps, if their number is
// the same, and can be resumed.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "recordpipe/base/error.h"
#include "recordpipe/cifar/data_folder.h"
#include "recordpipe/trainer/backend/variables.h"
#include "recordpipe/trainer/training/evaluate.h"
#include "tools/support/process/interrupt.h"
#include "trainer/programs/airbench_recipe.h"
#include "trainer/programs/device.h"
#include "trainer/programs/evaluation.h"
#include "trainer/programs/flag_helpers.h"
#include "trainer/programs/log.h"
#include "trainer/programs/program_main.h"
#include "trainer/programs/since_exec.h"

namespace recordpipe {
namespace {

int speedrun(int argc, char** argv) {
  // Nothing is saved, so a signal needn't wait for the end of a step or of an evaluation.
  Interrupt::set_grace(std::chrono::seconds(1));
  Hyperparameters recipe;
  TrainingDevice device;
  std::string data_dir;
  uint64_t seed = 7;
  ArgumentParser app(
      "cifar10_speedrun",
      "Trains the network of airbench94 on CIFAR-10's TFRecord files, evaluates it,\n"
      "and prints the time since the program was started. Saves nothing.");
  set_up(app);
  app.add_option("--data-dir", data_dir, "Folder with the files of generate_cifar10_tfrecords")
      .required();
  add_number<size_t>(app, "--width", recipe.width, 1, 1024, "Channels of the first block");
  add_number<size_t>(app, "--train-batch-size", recipe.batch_size, 1, max_images,
                     "Images per training step");
  add_number(app, "--epochs", recipe.epochs, 0.0, largest, "Passes over the training images");
  add_number(app, "--learning-rate", recipe.learning_rate, smallest, largest, "Peak learning rate");
  add_device(app, device.type);
  add_precision(app, device.precision);
  add_seed(app, seed);
  parse_or_throw(app, arguments_of(argc, argv), [] {});

  const auto train_files = all_training_files(data_dir);
  const auto eval_files = cifar10_files(data_dir, Cifar10Subset::eval);
  const size_t images = cifar10_count(train_files);
  const auto steps = static_cast<uint64_t>(std::ceil(recipe.epochs * static_cast<double>(images) /
                                                     static_cast<double>(recipe.batch_size)));
  const std::unique_ptr<Backend> backend = make_backend(device);
  const Network network = airbench_network(recipe, train_files);
  const auto variables = backend->make_variables(network);
  initialize(*variables, seed);
  Trainer trainer(*backend, network, *variables, airbench_trainer(recipe));
  trainer.set_total_steps(steps);

  const Cifar10Options input = {.batch_size = recipe.batch_size, .seed = seed, .threads = 1};
  Iterator<ImageBatch> batches =
      cifar10_batches(train_files, airbench_input(input, images)).iterate();
  const LearningRateSchedule learning_rate = linear_schedule(recipe.learning_rate, steps);
  const double start = seconds_since_exec();
  while (trainer.steps_done() < steps && !interrupted()) {
    const StepResult result = trainer.step(*batches.next(), learning_rate);
    if (result.step % 20 == 0 || result.step == steps)
      log_info("{:.1f} s: step {} of {}, loss {:.3f}", seconds_since_exec(), result.step, steps,
               result.batch.loss);
  }
  if (interrupted()) return 128 + interrupted();
  const double trained = seconds_since_exec();

  const size_t at_once = std::min<size_t>(500, cifar10_count(eval_files));
  const auto evaluate_with = [&](TestTimeAugmentation augmentation) {
    return evaluate(*backend, network, *variables,
                    cifar10_batches(eval_files, {.batch_size = at_once, .dtype = DType::uint8}),
                    {.batch_size = at_once, .augmentation = augmentation})
        .total;
  };
  const BatchResult plain = evaluate_with(TestTimeAugmentation::none);
  const BatchResult augmented = evaluate_with(TestTimeAugmentation::flip_and_translate);
  fmt::print("without test-time augmentation: {:.2f}% ({}/{})\n",
             100 * static_cast<double>(plain.correct) / static_cast<double>(plain.images),
             plain.correct, plain.images);
  print_accuracy(augmented, steps, is_marked_synthetic(posix_file_system(), data_dir),
                 TestTimeAugmentation::flip_and_translate);
  fmt::print(
      "{:.2f} s since exec(): {:.2f} s to the first step, {:.2f} s of {} steps on {}, {:.2f} s "
      "of evaluation\n",
      seconds_since_exec(), start, trained - start, steps, backend->name(),
      seconds_since_exec() - trained);
  return 0;
}

}  // namespace
}  // namespace recordpipe

int main(int argc, char** argv) {
  return recordpipe::program_main("cifar10_speedrun", argc, argv, recordpipe::speedrun);
}
