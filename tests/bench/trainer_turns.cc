// Training steps of the cpu backend, in turns with another program's.
//
// usage: trainer_turns DATA_DIR NETWORK BATCH_SIZE START
//
// NETWORK: see trainer_bench. Writes what the training starts from to START, a safetensors file:
// all variables, and the batch that each step takes as batch/images
// [images][channels][height][width] and batch/labels. Then prints the number of parameters and the
// losses of the first steps, and for each number that it reads the milliseconds a step, of so many
// steps.
#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "dataset/io/file.h"
#include "tests/bench/trainer_work.h"
#include "trainer/checkpoint/safetensors.h"

namespace recordpipe {
namespace {

constexpr size_t kFirstSteps = 3;

void write_start(const TrainerWork& work, const ImageBatch& batch, const std::string& path) {
  std::map<std::string, SafetensorsTensor> tensors;
  const auto add = [&](const std::string& name, const std::vector<size_t>& dimensions,
                       const std::vector<float>& values) {
    tensors[name] = SafetensorsTensor::floats(dimensions, values);
  };
  const auto specs = work.variables().specs();
  for (VariableId id = 0; id < specs.size(); ++id)
    add(specs[id].name, specs[id].shape, work.variables().read(id));
  const FeatureShape& shape = work.network().nodes().front().shape;
  add("batch/images", {batch.size(), shape.channels, shape.height, shape.width},
      work.runner().output(0));
  add("batch/labels", {batch.size()}, {batch.labels().begin(), batch.labels().end()});
  write_safetensors(posix_file_system(), path, tensors, {});
}

void serve(const std::string& data_dir, const std::string& network, size_t batch_size,
           const std::string& start_path) {
  TrainerWork work(network, batch_size);
  const ImageBatch batch = work.first_batch(data_dir);
  work.load(batch);
  write_start(work, batch, start_path);
  fmt::print("{}", work.network().parameter_count());
  for (size_t step = 0; step < kFirstSteps; ++step) fmt::print(" {:.9g}", work.step(batch));
  fmt::print("\n");
  std::fflush(stdout);

  for (size_t steps; std::cin >> steps;) {
    const auto start = std::chrono::steady_clock::now();
    for (size_t step = 0; step < steps; ++step) work.step(batch);
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    fmt::print("{}\n", time.count() / static_cast<double>(steps));
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace recordpipe

int main(int argc, char** argv) {
  if (argc != 5) {
    fmt::print(stderr, "usage: trainer_turns DATA_DIR NETWORK BATCH_SIZE START\n");
    return 2;
  }
  try {
    recordpipe::serve(argv[1], argv[2], std::stoul(argv[3]), argv[4]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "trainer_turns: {}\n", error.what());
    return 1;
  }
}
