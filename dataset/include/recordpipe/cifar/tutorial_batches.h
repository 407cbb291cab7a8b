// CIFAR-10 for TensorFlow's tutorial network (distorted_inputs and inputs of cifar10_input.py):
// files → records → standardised 24x24 crops → batches.
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

#include "recordpipe/image/image_batch.h"
#include "recordpipe/pipeline/dataset.h"

namespace recordpipe {

struct Cifar10TutorialOptions {
  size_t batch_size = 128;
  bool drop_remainder = false;
  // Random seed of the order and the distortions; both differ between epochs.
  uint64_t seed = 7;
  // Size of the shuffle buffer, in records; 0: no shuffling.
  // The tutorial trains with 20,000 + 3 * batch_size and evaluates without shuffling.
  size_t shuffle_buffer = 0;
  // true (training): a random 24x24 crop, a random horizontal flip, brightness changed by up to
  // ±63, contrast multiplied by 0.2 to 1.8. false (evaluation): the central 24x24 crop. In both
  // cases, each image is then standardised to mean 0 and standard deviation 1 (crop_flip_color.h).
  bool distort = false;
  // Number of epochs; -1: infinite.
  int64_t epochs = 1;
  // Maximum number of images, over all epochs and workers; 0: no limit. Called num_examples in the
  // tutorial.
  size_t take = 0;
  // Must be a floating-point dtype.
  DType dtype = DType::float32;
  Layout layout = Layout::nhwc;
  // Number of workers, each with batches of batch_size, and the index of this worker; 0 (default):
  // no sharding. Row r of worker w equals row r * num_shards + w of the batch of a single worker
  // with batches of num_shards * batch_size, including the distortion. A state saved by one set of
  // workers can be restored by another, also by a single worker (shard 0 of 1).
  size_t num_shards = 0;
  size_t shard_index = 0;
  // Number of batches that a background thread prefetches; 0: no prefetching.
  size_t prefetch = kAutotune;
  // Number of threads for decoding, including the consumer's: see PipelineOptions. The result is
  // the same for any number.
  size_t threads = 0;
};

// Yields the batches (images of 24x24x3) of `files` as written by generate_cifar10_tfrecords;
// cifar10_files() of cifar10_dataset.h finds these files. The iteration throws Error{corrupted},
// with file and record, for an image of another size or a label outside 0..9. Throws
// Error{invalid_argument} for uint8.
Dataset<ImageBatch> cifar10_tutorial_batches(const std::vector<std::string>& files,
                                             const Cifar10TutorialOptions& options = {});

}  // namespace recordpipe
