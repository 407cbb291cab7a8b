// CIFAR-10 as a Dataset<ImageBatch>: files → records → images → pad-crop-flip → batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/image/image_batch.h"
#include "recordpipe/image/normalization.h"
#include "recordpipe/image/pad_crop_flip.h"
#include "recordpipe/pipeline/dataset.h"

namespace recordpipe {

enum class Cifar10Subset { train, validation, eval };
std::string_view to_string(Cifar10Subset subset);  // "train", ...

struct Cifar10Options {
  size_t batch_size = 128;
  bool drop_remainder = false;
  // Random seed of the order and the distortions; both differ between epochs.
  uint64_t seed = 7;
  // Size of the shuffle buffer, in records; 0: no shuffling.
  size_t shuffle_buffer = 0;
  // Shuffle all records in O(1) memory, instead of the shuffle buffer. The files must be
  // uncompressed.
  bool global_shuffle = false;
  // Apply padding, a random 32x32 crop, and a horizontal flip: by default zero padding of 4 pixels
  // and a random flip.
  bool distort = false;
  PadCropFlipOptions distortion = {};
  // Number of epochs; -1: infinite.
  int64_t epochs = 1;
  DType dtype = DType::float32;
  Layout layout = Layout::nhwc;
  // Normalisation of the values 0..255, including padding; requires a floating-point dtype.
  Normalization normalization = {};
  // Number of workers, each with batches of batch_size, and the index of this worker; 0 (default):
  // no sharding. A state saved by one set of workers can be restored by another, also by a single
  // worker (shard 0 of 1).
  size_t num_shards = 0;
  size_t shard_index = 0;
  // Number of batches that a background thread prefetches; 0: no prefetching.
  size_t prefetch = kAutotune;
  // Number of threads for decoding, including the consumer's: see PipelineOptions.
  size_t threads = 0;
};

// Returns the paths of a subset's files in `data_dir`: SUBSET.tfrecords, or
// SUBSET-00000-of-0000N.tfrecords and so on. Throws Error{not_found} if all or some files are
// missing (the hint names the command to run), and Error{invalid_argument} for a FIFO or device.
std::vector<std::string> cifar10_files(const std::string& data_dir, Cifar10Subset subset);

// Yields the batches of `files`, with records Example{image: bytes[3072], label: int64} as written
// by generate_cifar10_tfrecords. The iteration throws Error{corrupted}, with file and record, for
// an image of another size or a label outside 0..9.
Dataset<ImageBatch> cifar10_batches(const std::vector<std::string>& files,
                                    const Cifar10Options& options = {});

// Returns the total number of records in the files. Reads the headers of all records of an
// uncompressed file; decompresses a compressed file as a whole, and checks its CRCs. Throws the
// errors of MappedRecordFile's constructor, and those of RecordReader for a compressed file.
size_t cifar10_count(const std::vector<std::string>& files);

}  // namespace recordpipe
