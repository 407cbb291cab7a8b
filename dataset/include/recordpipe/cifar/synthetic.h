// The synthetic set: images drawn by program (synthetic_image.h), packed as CIFAR-10 was published:
// a .tar.gz of pickles in the same folder, the same order and the same dialect.
//
// For machines without a network, and for tests. Figures reached on it say nothing about CIFAR-10.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>

#include "recordpipe/file.h"
#include "recordpipe/progress.h"

namespace recordpipe {

struct SyntheticCifarOptions {
  // The same seed gives the same images, on every machine.
  uint64_t seed = 1;
  // Of each of the six batches; up to 10,000.
  size_t images_per_batch = 10'000;
  // "draw synthetic", in bytes of pixels.
  ProgressFunction progress = {};
  std::stop_token stop = {};
};

// Writes the archive, which appears whole at `path` or not at all. With 60,000 images it takes a
// few seconds on two cores, and 186 MB. Throws what writing throws, and Error{cancelled}.
void write_synthetic_cifar(FileSystem& file_system, const std::string& path,
                           const SyntheticCifarOptions& options = {});

}  // namespace recordpipe
