// CIFAR-10 as a Dataset of batches: files → records → images → pad-crop-flip → ImageBatch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/dataset.h"
#include "recordpipe/image/image_batch.h"
#include "recordpipe/image/normalization.h"

namespace recordpipe {

enum class Cifar10Subset { train, validation, eval };
std::string_view to_string(Cifar10Subset subset);  // "train", ...

struct Cifar10Options {
  size_t batch_size = 128;
  bool drop_remainder = false;
  // Order and distortions. Another seed, another order; each epoch is shuffled and distorted anew.
  uint64_t seed = 7;
  // Records a shuffle chooses from; 0: keep the order of the files.
  size_t shuffle_buffer = 0;
  // Or a random order of all records, in O(1) memory; the files must be plain ones.
  bool global_shuffle = false;
  // Zero padding of 4, a random 32x32 crop, a random left-right flip.
  bool distort = false;
  // How often the files are read; -1: for ever.
  int64_t epochs = 1;
  DType dtype = DType::float32;
  Layout layout = Layout::nhwc;
  // Of the values 0..255, padding included; needs a floating-point dtype.
  Normalization normalization = {};
  // Of num_shards workers, each of which makes batches of batch_size, the batches of this one; 0:
  // there are no others. What some workers have saved others resume, also a single one, as 0 of 1.
  size_t num_shards = 0;
  size_t shard_index = 0;
  // Batches that a thread of its own keeps ready; 0: no such thread.
  size_t prefetch = kAutotune;
  // Threads that decode, the consumer's included: see PipelineOptions.
  size_t threads = 0;
};

// The files of a subset in `data_dir`: SUBSET.tfrecords, or SUBSET-00000-of-0000N.tfrecords and so
// on. Throws Error{not_found}, with what to run, where there are none or some are missing, and
// Error{invalid_argument} for one that is a FIFO or a device.
std::vector<std::string> cifar10_files(const std::string& data_dir, Cifar10Subset subset);

// The batches of `files`, which hold Example{image: bytes[3072], label: int64} as
// generate_cifar10_tfrecords writes them. A record with another size of image or a label outside
// 0..9 ends the iteration with an Error that names file and record.
Dataset<ImageBatch> cifar10_batches(const std::vector<std::string>& files,
                                    const Cifar10Options& options = {});

// How many records the files hold.
size_t cifar10_count(const std::vector<std::string>& files);

}  // namespace recordpipe
