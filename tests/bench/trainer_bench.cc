// Where a training step's time goes, and what the input pipeline costs beside it.
//
// usage: trainer_bench DATA_DIR LAYERS BATCH_SIZE
//
// Training steps of ResNet on a batch that stays in memory and on the pipeline's batches, in turns.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <iterator>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "dataset/cifar/cifar10_dataset.h"
#include "trainer/backend/cpu/cpu_backend.h"
#include "trainer/backend/cpu/cpu_runner.h"
#include "trainer/model/resnet.h"

namespace recordpipe {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kRounds = 7;
constexpr double kSecondsPerRound = 3;

const char* kind_of(const NetworkNode& node) {
  // In the order of NetworkNode::op's alternatives.
  constexpr const char* kinds[] = {"input",         "convolution",  "batch norm",
                                   "shortcut",      "average pool", "max pool",
                                   "response norm", "dense",        "loss"};
  static_assert(std::size(kinds) == std::variant_size_v<decltype(node.op)>);
  return kinds[node.op.index()];
}

class TrainerBench {
 public:
  TrainerBench(const std::string& data_dir, size_t layers, size_t batch_size)
      : files_(cifar10_files(data_dir, Cifar10Subset::train)),
        network_(resnet({.layers = layers})),
        variables_(network_.variables()),
        layers_(layers),
        batch_size_(batch_size),
        runner_(network_, variables_, {.batch_size = batch_size}) {
    initialize(variables_, 7);
  }

  void run() {
    const Dataset<ImageBatch> batches = cifar10_batches(files_, {.batch_size = batch_size_,
                                                                 .shuffle_buffer = 16'384,
                                                                 .distort = true,
                                                                 .epochs = -1,
                                                                 .dtype = DType::uint8,
                                                                 .threads = 1});
    Iterator<ImageBatch> pipeline = batches.iterate();
    ImageBatch fixed = *pipeline.next();
    for (int warm_up = 0; warm_up < 3; ++warm_up) step(fixed);

    std::vector<double> from_memory, from_pipeline;
    for (size_t round = 0; round < kRounds; ++round) {
      from_memory.push_back(images_per_second([&]() -> const ImageBatch& { return fixed; }));
      from_pipeline.push_back(
          images_per_second([&]() -> const ImageBatch& { return *pipeline.next(); }));
    }
    const double speed = median(from_memory);
    fmt::print("resnet{} batch {}: {:.1f} ms a step, {:.0f} images/s on a batch in memory\n",
               layers_, batch_size_, 1e3 * static_cast<double>(batch_size_) / speed, speed);
    print_kinds();
    fmt::print("  with the pipeline: {:.0f} images/s, {:.3f} of that (goal: at least 0.97)\n",
               median(from_pipeline), median(from_pipeline) / speed);
  }

 private:
  void step(const ImageBatch& batch) {
    const Clock::time_point start = Clock::now();
    runner_.load(batch);
    load_seconds_ += std::chrono::duration<double>(Clock::now() - start).count();
    runner_.forward();
    runner_.backward();
    const Clock::time_point update = Clock::now();
    variables_.apply_momentum({.learning_rate = 0.01});
    update_seconds_ += std::chrono::duration<double>(Clock::now() - update).count();
    ++steps_;
  }

  template <class NextBatch>
  double images_per_second(NextBatch next_batch) {
    const Clock::time_point start = Clock::now();
    size_t images = 0;
    double seconds = 0;
    while (seconds < kSecondsPerRound) {
      step(next_batch());
      images += batch_size_;
      seconds = std::chrono::duration<double>(Clock::now() - start).count();
    }
    return static_cast<double>(images) / seconds;
  }

  static double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
    return values[values.size() / 2];
  }

  // Milliseconds a step, over all steps so far. The floor is what the convolutions alone take.
  void print_kinds() {
    std::map<std::string, CpuRunner::NodeTime> kinds;
    for (NodeId node = 0; node < network_.nodes().size(); ++node) {
      CpuRunner::NodeTime& time = kinds[kind_of(network_.nodes()[node])];
      time.forward += runner_.times()[node].forward;
      time.backward += runner_.times()[node].backward;
    }
    kinds["input"].forward += load_seconds_;
    kinds["update"].backward += update_seconds_;
    const double per_step = 1e3 / static_cast<double>(steps_);
    double total = 0;
    for (const auto& [kind, time] : kinds) {
      fmt::print("  {:<13} {:8.2f} ms forward {:8.2f} ms backward\n", kind, per_step * time.forward,
                 per_step * time.backward);
      total += per_step * (time.forward + time.backward);
    }
    const CpuRunner::NodeTime& convolution = kinds["convolution"];
    const double floor = per_step * (convolution.forward + convolution.backward);
    const double operations = 2.0 * 3 * static_cast<double>(network_.multiply_adds() * batch_size_);
    fmt::print("  convolutions: {:.0f} GFLOP/s (direct method's count), {:.2f} of the step\n",
               1e-6 * operations / floor, floor / total);
  }

  const std::vector<std::string> files_;
  CpuBackend backend_;
  const Network network_;
  CpuVariables variables_;
  const size_t layers_;
  const size_t batch_size_;
  CpuRunner runner_;
  double load_seconds_ = 0, update_seconds_ = 0;
  size_t steps_ = 0;
};

}  // namespace
}  // namespace recordpipe

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: trainer_bench DATA_DIR LAYERS BATCH_SIZE\n");
    return 2;
  }
  try {
    recordpipe::TrainerBench(argv[1], std::stoul(argv[2]), std::stoul(argv[3])).run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "trainer_bench: {}\n", error.what());
    return 1;
  }
}
