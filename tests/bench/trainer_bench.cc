// Measures the parts of a training step, and the cost of the input pipeline.
//
// usage: trainer_bench DATA_DIR NETWORK BATCH_SIZE [--nodes]
//
// NETWORK: resnet20 (or another number of layers), or tutorial_cnn. Training steps alternate
// between a fixed batch in memory and the pipeline's batches. --nodes prints the time of each layer
// instead of each kind of layer.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "tests/bench/trainer_work.h"

namespace recordpipe {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kRounds = 7;
constexpr double kSecondsPerRound = 3;

const char* kind_of(const NetworkNode& node) {
  // In the order of NetworkNode::op's alternatives.
  constexpr const char* kinds[] = {
      "input",    "convolution", "batch norm",    "shortcut", "average pool",
      "max pool", "activation",  "response norm", "dense",    "loss",
  };
  static_assert(std::size(kinds) == std::variant_size_v<decltype(node.op)>);
  return kinds[node.op.index()];
}

// Returns the median, minimum and maximum as text.
std::string spread(std::vector<double> values, const char* format) {
  std::sort(values.begin(), values.end());
  const auto print = [&](double value) { return fmt::format(fmt::runtime(format), value); };
  return fmt::format("{} ({} to {})", print(values[values.size() / 2]), print(values.front()),
                     print(values.back()));
}

class TrainerBench {
 public:
  TrainerBench(const std::string& network, size_t batch_size, bool by_node)
      : work_(network, batch_size), by_node_(by_node) {}

  void run(const std::string& data_dir) {
    const ImageBatch fixed = first_batch(work_.name(), data_dir, work_.batch_size());
    const auto from_memory = [&] { return steps([&]() -> const ImageBatch& { return fixed; }); };
    for (int warm_up = 0; warm_up < 3; ++warm_up) work_.step(fixed);
    const Dataset<ImageBatch> batches =
        training_batches(work_.name(), data_dir, work_.batch_size(), 1);
    Iterator<ImageBatch> pipeline = batches.iterate();
    std::vector<double> step_seconds, ratios, waits;
    for (size_t round = 0; round < kRounds; ++round) {
      const Round memory = from_memory();
      const Round fed = steps([&]() -> const ImageBatch& { return *pipeline.next(); });
      step_seconds.push_back(memory.step);
      ratios.push_back(memory.step / fed.step);
      waits.push_back(100 * fed.waiting);
    }
    print_steps(step_seconds);
    fmt::print(
        "  with the pipeline: {} times as fast (goal: at least 0.97), "
        "{}% of a step spent waiting for input (goal: under 2%)\n",
        spread(ratios, "{:.3f}"), spread(waits, "{:.2f}"));
  }

 private:
  struct Round {
    double step;     // seconds
    double waiting;  // the share of the time that was spent waiting for the next batch
  };

  template <class NextBatch>
  Round steps(NextBatch next_batch) {
    const Clock::time_point start = Clock::now();
    double waited = 0;
    for (size_t steps = 1;; ++steps) {
      const Clock::time_point wait = Clock::now();
      const ImageBatch& batch = next_batch();
      waited += seconds_since(wait);
      work_.step(batch);
      const double seconds = seconds_since(start);
      if (seconds >= kSecondsPerRound)
        return {.step = seconds / static_cast<double>(steps), .waiting = waited / seconds};
    }
  }

  void print_steps(std::vector<double> step_seconds) const {
    for (double& seconds : step_seconds) seconds *= 1e3;
    fmt::print("{} batch {}: {} ms a step on a batch in memory\n", work_.name(), work_.batch_size(),
               spread(step_seconds, "{:.1f}"));
    print_layers();
  }

  // Prints milliseconds per step, averaged over all steps so far. The floor is the time of the
  // convolutions alone.
  void print_layers() const {
    std::map<std::string, CpuRunner::NodeTime> times;
    double convolutions = 0;
    for (NodeId id = 0; id < work_.network().nodes().size(); ++id) {
      const NetworkNode& node = work_.network().nodes()[id];
      const CpuRunner::NodeTime& of_node = work_.runner().times()[id];
      CpuRunner::NodeTime& time = times[by_node_ ? node.name : kind_of(node)];
      time.forward += of_node.forward;
      time.backward += of_node.backward;
      if (std::holds_alternative<Conv2dOp>(node.op))
        convolutions += of_node.forward + of_node.backward;
    }
    times["input"].forward += work_.load_seconds();
    times["update"].backward += work_.update_seconds();
    const double per_step = 1e3 / static_cast<double>(work_.steps());
    double total = 0;
    for (const auto& [name, time] : times) {
      fmt::print("  {:<21} {:8.2f} ms forward {:8.2f} ms backward\n", name, per_step * time.forward,
                 per_step * time.backward);
      total += per_step * (time.forward + time.backward);
    }
    const double floor = per_step * convolutions;
    const double operations =
        2.0 * 3 * static_cast<double>(work_.network().multiply_adds() * work_.batch_size());
    fmt::print("  convolutions: {:.0f} GFLOP/s (direct method's count), {:.2f} of the step\n",
               1e-6 * operations / floor, floor / total);
  }

  TrainerWork work_;
  const bool by_node_;
};

}  // namespace
}  // namespace recordpipe

int main(int argc, char** argv) {
  const bool by_node = argc == 5 && std::string_view(argv[4]) == "--nodes";
  if (argc != 4 && !by_node) {
    fmt::print(stderr, "usage: trainer_bench DATA_DIR NETWORK BATCH_SIZE [--nodes]\n");
    return 2;
  }
  try {
    recordpipe::TrainerBench(argv[2], std::stoul(argv[3]), by_node).run(argv[1]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "trainer_bench: {}\n", error.what());
    return 1;
  }
}
