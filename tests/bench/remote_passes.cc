// One pass of a training pipeline over objects: records in batches, whose bytes are added up.
//
// usage: remote_passes OBJECT...
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "recordpipe/object_store/file_system.h"
#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/pipeline/tfrecord_files.h"

using namespace recordpipe;

int main(int argc, char** argv) try {
  ObjectStoreFileSystem files(posix_file_system());
  const auto batches = tfrecord_files(files, std::vector<std::string>(argv + 1, argv + argc))
                           .shuffle(1000, /*seed=*/7)
                           .map([](const Record& record) { return uint64_t{record.data.size()}; })
                           .batch(64)
                           .prefetch(2);
  uint64_t bytes = 0;
  for (const std::vector<uint64_t>& sizes : batches) {
    for (const uint64_t size : sizes) bytes += size;
  }
  std::printf("%llu bytes\n", static_cast<unsigned long long>(bytes));
} catch (const std::exception& error) {
  std::fprintf(stderr, "remote_passes: %s\n", error.what());
  return 1;
}
