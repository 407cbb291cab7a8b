// CIFAR-10 as TensorFlow's tutorial network takes it (distorted_inputs and inputs of
// cifar10_input.py): files → records → 24x24 crops, standardised → ImageBatch.
//
//   const auto files = cifar10_files(data_dir, Cifar10Subset::train);
//   auto batches = cifar10_tutorial_batches(
//       files, {.shuffle_buffer = 20'000 + 3 * 128, .distort = true, .epochs = -1});
//   for (const ImageBatch& batch : batches) ...   // 128 images of 24x24x3 floats, and labels
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "recordpipe/dataset.h"
#include "recordpipe/image/image_batch.h"

namespace recordpipe {

struct Cifar10TutorialOptions {
  size_t batch_size = 128;
  bool drop_remainder = false;
  // Order and distortions. Another seed, another order; each epoch is shuffled and distorted anew.
  uint64_t seed = 7;
  // Records a shuffle chooses from; 0: keep the order of the files. The tutorial trains with
  // 20,000 + 3 * batch_size, and evaluates in the order of the files.
  size_t shuffle_buffer = 0;
  // For training: a random 24x24 crop, a random left-right flip, brightness by up to 63 either way,
  // contrast times 0.2 to 1.8. For evaluation, false: the middle 24x24 pixels. Both are then
  // standardised: each image gets the mean 0 and the standard deviation 1 (crop_flip_color.h).
  bool distort = false;
  // How often the files are read; -1: for ever.
  int64_t epochs = 1;
  // Images after which the batches end, counted over all epochs and workers; 0: no such end. The
  // tutorial's num_examples.
  size_t take = 0;
  // A floating-point one: standardised values don't fit uint8.
  DType dtype = DType::float32;
  Layout layout = Layout::nhwc;
  // Of num_shards workers, each of which makes batches of batch_size, the batches of this one; 0:
  // there are no others. Row r of worker w is row r * num_shards + w of the batch that one worker
  // with batches of num_shards * batch_size makes, and distorted as there. What some workers have
  // saved others resume, also a single one, as 0 of 1.
  size_t num_shards = 0;
  size_t shard_index = 0;
  // Batches that a thread of its own keeps ready; 0: no such thread.
  size_t prefetch = kAutotune;
  // Threads that decode, the consumer's included: see PipelineOptions. Any number gives the same
  // bytes.
  size_t threads = 0;
};

// The batches, images of 24x24x3, of `files`, which hold what generate_cifar10_tfrecords writes
// (cifar10_files in cifar10_dataset.h finds them). A record with another size of image or a label
// outside 0..9 ends the iteration with an Error that names file and record. Throws
// Error{invalid_argument}, before anything is read, for a dtype of uint8.
Dataset<ImageBatch> cifar10_tutorial_batches(const std::vector<std::string>& files,
                                             const Cifar10TutorialOptions& options = {});

}  // namespace recordpipe
