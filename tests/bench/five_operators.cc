// A typical user program with five operators, which bench_compile compiles but doesn't run.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/pipeline/tfrecord_files.h"

using namespace recordpipe;

int main(int argc, char** argv) {
  const auto batches =
      tfrecord_files(std::vector<std::string>(argv + 1, argv + argc))
          .shuffle(1000, /*seed=*/7)
          .map([](const Record& record) { return static_cast<int64_t>(record.data.size()); })
          .filter([](int64_t size) { return size > 0; })
          .batch(128, DropRemainder::yes)
          .prefetch(2);
  for (const std::vector<int64_t>& sizes : batches) std::printf("%zu\n", sizes.size());
}
