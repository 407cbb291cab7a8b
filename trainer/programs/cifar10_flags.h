// The command line of cifar10_main: the tutorial's flags with its defaults, or those of another
// recipe, and additional ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "recordpipe/image/image_batch.h"
#include "recordpipe/trainer/training/evaluate.h"
#include "trainer/programs/airbench_recipe.h"
#include "trainer/programs/device.h"

namespace recordpipe {

struct Cifar10Flags {
  std::string data_dir;
  std::string job_dir;
  TrainingDevice device;
  uint64_t seed = 7;

  std::string recipe = "resnet";  // or "airbench", "airbench-sgd"
  size_t num_layers = 44;         // resnet only
  // The default is the tutorial's. The width is airbench's.
  Hyperparameters hyperparameters = {.muon = false,
                                     .width = 0,
                                     .batch_size = 128,
                                     .learning_rate = 0.1,
                                     .schedule = "piecewise",
                                     .momentum = 0.9,
                                     .weight_decay = 2e-4,
                                     .label_smoothing = 0,
                                     .batch_norm_decay = 0.997,
                                     .batch_norm_epsilon = 1e-5};

  uint64_t train_steps = 80'000;
  double minutes = 0;  // above 0: determines the number of steps
  size_t eval_batch_size = 100;
  bool use_distortion_for_training = true;
  size_t cutout = 0;  // PadCropFlipOptions::cutout
  Layout data_format = Layout::nhwc;

  uint64_t warmup_steps = 0;
  double moving_average_decay = 0;  // 0: no averages
  double clip_gradient_norm = 0;    // 0: no clipping
  double clip_global_norm = 0;
  bool check_numerics = false;
  bool stop_on_nan = false;

  TestTimeAugmentation augmentation = TestTimeAugmentation::none;
  size_t num_inter_threads = 0;

  uint64_t checkpoint_steps = 1000;
  size_t keep_checkpoints = 5;
  uint64_t validation_steps = 0;  // 0: no evaluation during training
  uint64_t log_frequency = 100;
  uint64_t summary_steps = 100;  // 0: no event file
  uint64_t profile_steps = 0;
  uint64_t stop_grace_period_secs = 0;  // after a signal; 0: no limit
  bool log_device_placement = false;
  bool confusion_matrix = false;
  bool sync = false;          // train in all processes started by mpirun
  std::string report;         // empty: none
  std::string analyze_model;  // "text" or "json": print the network's cost and exit
};

// "none", "flip", "flip-and-translate"
std::string name_of(TestTimeAugmentation augmentation);

// Prints help or the usage error, and throws UsageError (usage_error.h), if there is nothing to
// run.
Cifar10Flags parse_cifar10_flags(int argc, char** argv);

}  // namespace recordpipe
