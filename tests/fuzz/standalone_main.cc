// Runs a fuzzer's entry point without a fuzzer: on each file of the corpus folders, then on damaged
// copies of them, the same ones in every run.
//
//     record_fuzz [-runs=N] [-seed=N] [FILE or FOLDER]...
//
// A failure ends the process; the input that caused it is written to crash-FUZZER in the present
// folder first. With clang, link the entry point with -fsanitize=fuzzer instead of this file.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

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
    corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return corpus;
}

// Kept where a crash handler or a core file's reader finds it, and written before each run where
// the run may end the process.
void run(const std::string& name, const std::string& input) {
  const std::string path = "crash-" + name;
  std::ofstream(path, std::ios::binary) << input;
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
  std::filesystem::remove(path);
}

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
  for (const std::string& input : corpus) run(name, input);
  Mutator mutator(seed);
  for (uint64_t i = 0; i < runs; ++i) {
    const std::string& input = corpus[mutator.below(corpus.size())];
    run(name, mutator.mutate(input, corpus[mutator.below(corpus.size())]));
  }
  std::printf("%s: %zu files and %llu damaged copies of them\n", name.c_str(), corpus.size() - 1,
              static_cast<unsigned long long>(runs));
  return 0;
}

}  // namespace
}  // namespace recordpipe

int main(int argc, char** argv) { return recordpipe::main_of({argv, argv + argc}); }
