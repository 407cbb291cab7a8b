// Measures training steps on request, so that a driver can alternate them with the steps of another
// program.
//
// usage: trainer_turns DATA_DIR NETWORK BATCH_SIZE START [DEVICE [PRECISION [THREADS
// [ALGORITHMS]]]]
//
// NETWORK: see trainer_input.h. DEVICE and PRECISION: as in TrainingDevice (default: cpu, fp32).
// ALGORITHMS: measured on the GPU, as by --measure-algorithms, or predicted (default).
// Writes the initial state of the training to the safetensors file START: all variables, and the
// fixed batch as batch/images [images][channels][height][width] and batch/labels. Then prints the
// number of parameters and the losses of the first steps. For each line "WORD STEPS" of standard
// input, prints the milliseconds per step, averaged over STEPS steps with
//
//   held     the fixed batch, which stays on the device
//   loaded   the fixed batch, loaded again in each step
//   fed      the input pipeline's batches, made by THREADS threads (default: 1); also prints
//            the share of the time that was spent waiting for the next batch
//
// With WORD/profiled, a GPU profiler that was told not to profile from the start records these
// steps, and one more kernel, whose result is read to wait for their end.
// Exits with status 77 if there is no such device.
#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#ifdef RECORDPIPE_CUDA
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
#endif

#include "recordpipe/base/error.h"
#include "recordpipe/io/file.h"
#include "recordpipe/trainer/checkpoint/safetensors.h"
#include "tests/bench/trainer_input.h"
#include "trainer/programs/device.h"

namespace recordpipe {
namespace {

constexpr size_t kFirstSteps = 3;
constexpr std::string_view kProfiled = "/profiled";

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void profile([[maybe_unused]] bool on) {
#ifdef RECORDPIPE_CUDA
  if (const cudaError_t status = on ? cudaProfilerStart() : cudaProfilerStop())
    fmt::print(stderr, "trainer_turns: no profile: {}\n", cudaGetErrorString(status));
#endif
}

struct Turn {
  double milliseconds;  // per step
  // The share of the time that was spent waiting for the next batch, if the pipeline makes them.
  std::optional<double> waiting = {};
};

class Turns {
 public:
  Turns(Backend& backend, const std::string& name, const std::string& data_dir, size_t batch_size,
        size_t threads)
      : network_(network_of(name)),
        optimizer_(optimizer_of(name)),
        batch_(first_batch(name, data_dir, batch_size)),
        batches_(training_batches(name, data_dir, batch_size, threads)),
        variables_(backend.make_variables(network_)),
        runner_(backend.make_runner(network_, *variables_, {.batch_size = batch_size})) {
    initialize(*variables_, 7);
    runner_->load(batch_);
  }

  const Network& network() const { return network_; }

  void write_start(const std::string& path) const {
    std::map<std::string, SafetensorsTensor> tensors;
    const auto add = [&](const std::string& name, const std::vector<size_t>& dimensions,
                         const std::vector<float>& values) {
      tensors[name] = SafetensorsTensor::floats(dimensions, values);
    };
    const auto specs = variables_->specs();
    for (VariableId id = 0; id < specs.size(); ++id)
      add(specs[id].name, specs[id].shape, variables_->read(id));
    const FeatureShape& shape = network_.nodes().front().shape;
    add("batch/images", {batch_.size(), shape.channels, shape.height, shape.width},
        runner_->output(0));
    add("batch/labels", {batch_.size()}, {batch_.labels().begin(), batch_.labels().end()});
    write_safetensors(posix_file_system(), path, tensors, {});
  }

  // Returns the loss before the update.
  double step() {
    const double loss = runner_->forward().loss;
    runner_->backward();
    runner_->update_statistics();
    variables_->apply_momentum(optimizer_);
    return loss;
  }

  Turn turn(std::string word, size_t steps) {
    const bool profiled = word.ends_with(kProfiled);
    if (profiled) word.resize(word.size() - kProfiled.size());
    if (word != "held" && word != "loaded" && word != "fed")
      throw std::invalid_argument("unknown word \"" + word + "\": held, loaded or fed");
    if (word == "fed" && !iterator_) iterator_.emplace(batches_.iterate());
    wait_for_device();
    if (profiled) profile(true);
    const Clock::time_point start = Clock::now();
    double waited = 0;
    for (size_t i = 0; i < steps; ++i) {
      if (word == "fed") {
        const Clock::time_point wait = Clock::now();
        const ImageBatch& next = *iterator_->next();
        waited += seconds_since(wait);
        runner_->load(next);
      } else if (word == "loaded") {
        runner_->load(batch_);
      }
      step();
    }
    wait_for_device();
    const double seconds = seconds_since(start);
    if (profiled) profile(false);
    Turn turn = {.milliseconds = 1e3 * seconds / static_cast<double>(steps)};
    if (word == "fed") {
      turn.waiting = waited / seconds;
      runner_->load(batch_);  // a later "held" turn needs it on the device
    }
    return turn;
  }

 private:
  // GPU work may continue after a call has returned; reading a result waits for it.
  void wait_for_device() const { variables_->half_squared_norm(); }

  const Network network_;
  const MomentumOptions optimizer_;
  const ImageBatch batch_;
  const Dataset<ImageBatch> batches_;
  std::optional<Iterator<ImageBatch>> iterator_;
  const std::unique_ptr<Variables> variables_;
  const std::unique_ptr<Runner> runner_;
};

void serve(const std::vector<std::string>& arguments) {
  const auto argument = [&](size_t index, const char* otherwise) {
    return index < arguments.size() ? arguments[index] : otherwise;
  };
  const bool measured = argument(7, "predicted") == std::string("measured");
  const auto backend = make_backend({.type = argument(4, "cpu"),
                                     .precision = argument(5, "fp32"),
                                     .measure_algorithms = measured});
  Turns turns(*backend, arguments[1], arguments[0], std::stoul(arguments[2]),
              std::stoul(argument(6, "1")));
  turns.write_start(arguments[3]);
  fmt::print("{}", turns.network().parameter_count());
  for (size_t step = 0; step < kFirstSteps; ++step) fmt::print(" {:.9g}", turns.step());
  fmt::print("\n");
  std::fflush(stdout);

  std::string word;
  for (size_t steps; std::cin >> word >> steps;) {
    const Turn turn = turns.turn(word, steps);
    fmt::print("{}", turn.milliseconds);
    if (turn.waiting) fmt::print(" {}", *turn.waiting);
    fmt::print("\n");
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace recordpipe

int main(int argc, char** argv) {
  if (argc < 5 || argc > 9) {
    fmt::print(stderr,
               "usage: trainer_turns DATA_DIR NETWORK BATCH_SIZE START [DEVICE [PRECISION "
               "[THREADS [ALGORITHMS]]]]\n");
    return 2;
  }
  try {
    recordpipe::serve({argv + 1, argv + argc});
  } catch (const recordpipe::Error& error) {
    fmt::print(stderr, "trainer_turns: {}\n", error.what());
    return error.kind() == recordpipe::ErrorKind::unsupported ? 77 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "trainer_turns: {}\n", error.what());
    return 1;
  }
}
