// The recipe of airbench94 (model/airbench.h), for cifar10_main --recipe airbench and
// cifar10_speedrun: its numbers, its input and its schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "recordpipe/cifar/cifar10_dataset.h"
#include "recordpipe/trainer/model/network.h"
#include "recordpipe/trainer/optimizer/learning_rate.h"
#include "recordpipe/trainer/training/trainer.h"

namespace recordpipe {

// Of a training on CIFAR-10; the defaults are those of airbench94_muon, except where noted.
struct Hyperparameters {
  bool muon = true;   // as airbench94_muon; false: as airbench94
  size_t width = 32;  // channels of the first block, there 64; the others have four times as many
  size_t batch_size = 512;      // there 2000
  double epochs = 8;            // of cifar10_speedrun; cifar10_main has --train-steps and --minutes
  double learning_rate = 0.12;  // the peak; there 0.24. About 0.24 · √(batch_size / 2000)
  std::string schedule = "linear";  // of the learning rate, as in cifar10_main --help
  // Nesterov's, of the variables that are not updated by Muon (MomentumOptions::muon_momentum).
  double momentum = 0.85;
  double weight_decay = 0.0084;
  double label_smoothing = 0.2;
  double batch_norm_decay = 0.6;
  double batch_norm_epsilon = 1e-12;
};

// airbench94's: gradient descent and lookahead.
inline Hyperparameters airbench_without_muon() {
  return {.muon = false, .learning_rate = 0.75, .schedule = "triangular", .weight_decay = 0.00133};
}

// The images of all five training batches of the archive: the train and the validation files.
std::vector<std::string> all_training_files(const std::string& data_dir);

// With whitening weights for the first of the training images; random ones without files.
Network airbench_network(const Hyperparameters& recipe,
                         const std::vector<std::string>& train_files);

// Sets the order and the distortions of endless batches: `train_images` are shuffled as a whole,
// moved by up to two pixels with reflected edges, and flipped in every second epoch.
Cifar10Options airbench_input(Cifar10Options options, size_t train_images);

TrainerOptions airbench_trainer(const Hyperparameters& recipe);

// Linear from the peak to zero.
LearningRateSchedule linear_schedule(double peak, uint64_t total_steps);
// Linear from a fifth of the peak to the peak at 23% of the steps, then linear to 7% of it.
LearningRateSchedule triangular_schedule(double peak, uint64_t total_steps);

}  // namespace recordpipe
