// The training steps that the trainer's benchmarks time.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "dataset/image/image_batch.h"
#include "dataset/pipeline/dataset.h"
#include "trainer/backend/cpu/cpu_backend.h"
#include "trainer/backend/cpu/cpu_runner.h"
#include "trainer/backend/cpu/cpu_variables.h"
#include "trainer/model/network.h"

namespace recordpipe {

// A network with its initial weights and the optimiser of its tutorial, at a learning rate that
// lets the weights stay near where they are.
class TrainerWork {
 public:
  // `name`: resnet20 (or with another number of layers), or tutorial_cnn.
  TrainerWork(const std::string& name, size_t batch_size);

  const std::string& name() const { return name_; }
  const Network& network() const { return network_; }
  const Variables& variables() const { return variables_; }
  size_t batch_size() const { return batch_size_; }
  const CpuRunner& runner() const { return runner_; }

  // The training files' images as this network's training takes them, for ever; only ResNet's
  // tutorial has such a pipeline so far.
  bool has_pipeline() const { return !is_tutorial_cnn_; }
  Dataset<ImageBatch> pipeline(const std::string& data_dir) const;

  // The first images of the training files, in a form that the network takes.
  ImageBatch first_batch(const std::string& data_dir) const;

  // Makes a batch the input; step() does this itself.
  void load(const ImageBatch& batch);
  // Forward, backward, update; returns the loss before it.
  double step(const ImageBatch& batch);
  // Seconds spent in load() and in the updates since it was made; the rest is runner().times().
  double load_seconds() const { return load_seconds_; }
  double update_seconds() const { return update_seconds_; }
  size_t steps() const { return steps_; }

 private:
  const std::string name_;
  const bool is_tutorial_cnn_;
  const size_t batch_size_;
  CpuBackend backend_;  // decides about OpenMP's threads
  const Network network_;
  CpuVariables variables_;
  CpuRunner runner_;
  double load_seconds_ = 0, update_seconds_ = 0;
  size_t steps_ = 0;
};

}  // namespace recordpipe
