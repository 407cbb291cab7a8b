// The command lines of cifar10_train, cifar10_multi_gpu_train and cifar10_eval: the flags of
// TensorFlow's CIFAR-10 tutorial with its defaults, and additional ones.
//
// Names may be written as in the tutorial (--train_dir) or with hyphens (--train-dir); booleans
// also as --run_once and --norun_once. The exit status is 2 for invalid flags.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "trainer/programs/device.h"

namespace recordpipe {

// Common to all three programs.
struct TutorialFlags {
  size_t batch_size = 128;
  std::string data_dir = "/tmp/cifar10_data";
  bool use_fp16 = false;  // the tutorial's flag; sets the precision "fp16"

  TrainingDevice device;
  size_t num_inter_threads = 0;  // for batches; 0: one
};

struct TutorialTrainFlags : TutorialFlags {
  std::string train_dir =
      "/tmp/cifar10_train";        // checkpoints and event files; resumed, not deleted
  uint64_t max_steps = 1'000'000;  // in total, including earlier runs in train_dir
  bool log_device_placement = false;
  uint64_t log_frequency = 10;  // steps between log lines
  uint64_t seed = 7;
  uint64_t checkpoint_steps = 1000;
  size_t keep_checkpoints = 5;
  bool sync = false;                    // train in all processes started by mpirun, a batch in each
  uint64_t stop_grace_period_secs = 0;  // after a signal; 0: no limit
  std::string report;                   // file for an HTML report; empty: none
};

struct TutorialEvalFlags : TutorialFlags {
  std::string eval_dir = "/tmp/cifar10_eval";         // event files
  std::string eval_data = "test";                     // or "train_eval": the training images
  std::string checkpoint_dir = "/tmp/cifar10_train";  // train_dir of the training, or a checkpoint
  uint64_t eval_interval_secs = 300;                  // between evaluations, at least 1
  uint64_t num_examples = 10'000;                     // the maximum; each image counts once
  bool run_once = false;
  bool confusion_matrix = false;
  bool moving_averages = true;  // evaluates the averages of the weights, as the tutorial does
};

// Each prints help or the usage error, and throws UsageError (usage_error.h), if there is nothing
// to run.
TutorialTrainFlags parse_cifar10_train_flags(int argc, char** argv);
TutorialTrainFlags parse_cifar10_multi_gpu_train_flags(int argc, char** argv);
TutorialEvalFlags parse_cifar10_eval_flags(int argc, char** argv);

}  // namespace recordpipe
