// Runs a fuzzer's entry point without a fuzzer: on each file of the corpus folders, then on damaged
// copies of these files. The copies are the same in every run.
//
//     record_fuzz [-runs=N] [-seed=N] [FILE or FOLDER]...
//
// With RECORDPIPE_FUZZ_SECONDS in the environment it runs for this time instead of N copies, with
// different copies in every run; it prints the seed that reproduces the copies.
//
// A failure ends the process and leaves the input that caused it as crash-FUZZER in the current
// folder. With clang, link the entry point with -fsanitize=fuzzer instead of this file.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "tests/support/mutator.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace recordpipe {
namespace {

std::vector<std::string> read_corpus(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> corpus = {""};
  for (const std::string& file : files) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream content;
    content << in.rdbuf();
    corpus.push_back(std::move(content).str());
  }
  return corpus;
}

// Stores the current input in a file that remains if the process dies for any reason.
class RunningInput {
 public:
  explicit RunningInput(std::string path)
      : path_(std::move(path)), fd_(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    if (fd_ < 0) throw std::runtime_error("can't write " + path_);
  }
  RunningInput(const RunningInput&) = delete;
  RunningInput& operator=(const RunningInput&) = delete;
  ~RunningInput() {
    ::close(fd_);
    std::filesystem::remove(path_);
  }

  void run(const std::string& input) {
    const auto size = static_cast<ssize_t>(input.size());
    if (::pwrite(fd_, input.data(), input.size(), 0) != size || ::ftruncate(fd_, size) != 0) {
      throw std::runtime_error("can't write " + path_);
    }
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
  }

 private:
  std::string path_;
  int fd_;
};

int main_of(const std::vector<std::string>& arguments) {
  const std::string name = std::filesystem::path(arguments[0]).filename();
  uint64_t runs = 0;
  uint64_t seed = 1;
  std::vector<std::string> paths;
  for (size_t i = 1; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument.starts_with("-runs=")) {
      runs = std::stoull(argument.substr(6));
    } else if (argument.starts_with("-seed=")) {
      seed = std::stoull(argument.substr(6));
    } else {
      paths.push_back(argument);
    }
  }
  const std::vector<std::string> corpus = read_corpus(paths);
  if (!paths.empty() && corpus.size() == 1) {
    std::fprintf(stderr, "%s: the corpus is empty\n", name.c_str());
    return 1;
  }
  using Clock = std::chrono::steady_clock;
  const char* const seconds = std::getenv("RECORDPIPE_FUZZ_SECONDS");
  const auto end = Clock::now() + std::chrono::seconds(seconds ? std::stoul(seconds) : 0);
  if (seconds) {
    seed = std::random_device()();
    std::printf("%s: -seed=%llu\n", name.c_str(), static_cast<unsigned long long>(seed));
    std::fflush(stdout);
  }
  RunningInput running("crash-" + name);
  for (const std::string& input : corpus) running.run(input);
  Mutator mutator(seed);
  uint64_t i = 0;
  for (; seconds ? Clock::now() < end : i < runs; ++i) {
    const std::string& input = corpus[mutator.below(corpus.size())];
    running.run(mutator.mutate(input, corpus[mutator.below(corpus.size())]));
  }
  std::printf("%s: %zu files and %llu damaged copies of them\n", name.c_str(), corpus.size() - 1,
              static_cast<unsigned long long>(i));
  return 0;
}

}  // namespace
}  // namespace recordpipe

int main(int argc, char** argv) { return recordpipe::main_of({argv, argv + argc}); }
