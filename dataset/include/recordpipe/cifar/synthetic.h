// Writes the synthetic dataset: generated images (synthetic_image.h) in an archive like the
// published CIFAR-10 archive, a .tar.gz of pickles with the same directory, order and pickle
// protocol.
//
// For machines without network access, and for tests. Accuracies on this dataset say nothing about
// CIFAR-10.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>

#include "recordpipe/base/progress.h"
#include "recordpipe/io/file.h"

namespace recordpipe {

struct SyntheticCifarOptions {
  // Random seed. The images are the same on every machine.
  uint64_t seed = 1;
  // Images in each of the six batches; 1 to 10,000.
  size_t images_per_batch = 10'000;
  // Reports progress as activity "draw synthetic"; Progress::done counts bytes of pixels.
  ProgressFunction progress = {};
  std::stop_token stop = {};
};

// Writes the archive to `path`, atomically. 60,000 images give 186 MB and take a few seconds on two
// cores. Throws Error{invalid_argument} for an invalid images_per_batch, Error{cancelled}, and
// write errors.
void write_synthetic_cifar(FileSystem& file_system, const std::string& path,
                           const SyntheticCifarOptions& options = {});

}  // namespace recordpipe
