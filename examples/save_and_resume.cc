// Reads a file in shuffled batches, BATCHES per run. Each run resumes where the last run stopped.
//
//     save_and_resume FILE STATE_FILE BATCHES
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "recordpipe/atomic_file.h"
#include "recordpipe/file.h"
#include "recordpipe/tfrecord_files.h"

using namespace recordpipe;

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: save_and_resume FILE STATE_FILE BATCHES\n");
    return 2;
  }
  const char* const state_path = argv[2];
  try {
    const auto batches = tfrecord_files({argv[1]})
                             .shuffle(/*buffer_size=*/100, /*seed=*/7)
                             .repeat(2)
                             .map([](const Record& record) { return record.data.size(); })
                             .batch(4)
                             .prefetch(2);
    auto iterator = batches.iterate();
    if (std::filesystem::exists(state_path)) {
      std::ifstream file(state_path, std::ios::binary);
      // Throws if the file or the operators have changed. The number of threads may differ.
      iterator.restore(std::string(std::istreambuf_iterator<char>(file), {}));
    }

    for (int i = 0; i < std::atoi(argv[3]); ++i) {
      const std::vector<size_t>* const sizes = iterator.next();
      if (!sizes) {
        std::printf("the end\n");
        break;
      }
      std::printf("batch %llu: records of", static_cast<unsigned long long>(iterator.position()));
      for (const size_t size : *sizes) std::printf(" %zu", size);
      std::printf(" bytes\n");
    }

    // The state holds the position after the last batch: a few bytes, however large the file is.
    // AtomicFile stores it atomically: after a crash, either the old or the new state exists, never
    // a part of one.
    const std::string state = iterator.state();
    AtomicFile file(posix_file_system(), state_path);
    file.write(std::as_bytes(std::span(state)));
    file.commit();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
