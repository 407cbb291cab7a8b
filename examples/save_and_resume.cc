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
#include <string_view>
#include <vector>

#include "recordpipe/io/atomic_file.h"
#include "recordpipe/io/file.h"
#include "recordpipe/pipeline/tfrecord_files.h"

using namespace recordpipe;

constexpr char kUsage[] = R"(usage: save_and_resume FILE STATE_FILE BATCHES

Prints the next BATCHES shuffled batches of the TFRecord file FILE, and keeps the state of the
iterator in STATE_FILE, from which the next run resumes.
)";

int main(int argc, char** argv) {
  const bool help = argc > 1 && std::string_view(argv[1]) == "--help";
  int count = 0;
  if (help || argc != 4 || argv[1][0] == '-' || (count = std::atoi(argv[3])) < 1) {
    std::fputs(kUsage, help ? stdout : stderr);
    return help ? 0 : 2;
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

    for (int i = 0; i < count; ++i) {
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
