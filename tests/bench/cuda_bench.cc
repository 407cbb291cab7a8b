// Measures a training step on a GPU, in each precision, and the cost of uploading its batch.
//
// usage: cuda_bench [SECONDS]
//
// Measures ResNet-44 and the tutorial's network, with batches of 128, for SECONDS (default: 2) per
// row. Exits with status 77 if there is no GPU.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "recordpipe/base/error.h"
#include "recordpipe/base/philox.h"
#include "recordpipe/trainer/model/resnet.h"
#include "recordpipe/trainer/model/tutorial_cnn.h"
#include "trainer/backend/cuda/cuda_backend.h"

namespace recordpipe {
namespace {

constexpr size_t kBatch = 128;
constexpr size_t kRounds = 5;

// Returns random images: uint8 as from a pipeline, or float32 like the tutorial's standardised
// images.
ImageBatch random_batch(const Network& network, DType dtype) {
  const FeatureShape& shape = network.input_shape();
  ImageBatch batch;
  batch.reset({.height = shape.height, .width = shape.width, .dtype = dtype}, kBatch);
  Random random(derive_key(1, 0), 0, 0);
  for (size_t image = 0; image < kBatch; ++image) {
    batch.set_label(image, static_cast<int32_t>(random.below(10)));
    for (size_t i = 0; i < shape.size(); ++i)
      if (dtype == DType::uint8)
        batch.image_at(image)[i] = static_cast<std::byte>(random.below(256));
      else
        reinterpret_cast<float*>(batch.image_at(image))[i] = 4 * random.uniform() - 2;
  }
  return batch;
}

class StepTimer {
 public:
  StepTimer(CudaBackend& backend, const Network& network, const ImageBatch& batch)
      : variables_(backend.make_variables(network)),
        runner_(backend.make_runner(network, *variables_, {.batch_size = kBatch})) {
    initialize(*variables_, 1);
    runner_->load(batch);
  }

  // Returns the milliseconds per step, the median of the rounds. Each step loads `batch` unless it
  // is null.
  double measure(const ImageBatch* batch, double seconds) {
    for (int warm_up = 0; warm_up < 10; ++warm_up) step(batch);
    std::vector<double> rounds;
    for (size_t round = 0; round < kRounds; ++round) {
      variables_->half_squared_norm();  // waits for the previous steps
      size_t steps = 0;
      const auto start = Clock::now();
      double taken = 0;
      while (taken < seconds / kRounds) {
        step(batch);
        ++steps;
        taken = std::chrono::duration<double>(Clock::now() - start).count();
      }
      variables_->half_squared_norm();
      taken = std::chrono::duration<double>(Clock::now() - start).count();
      rounds.push_back(1e3 * taken / static_cast<double>(steps));
    }
    std::ranges::nth_element(rounds, rounds.begin() + kRounds / 2);
    return rounds[kRounds / 2];
  }

 private:
  using Clock = std::chrono::steady_clock;

  void step(const ImageBatch* batch) {
    if (batch) runner_->load(*batch);
    runner_->forward();
    runner_->backward();
    runner_->update_statistics();
    variables_->apply_momentum({.learning_rate = 1e-4});
  }

  std::unique_ptr<Variables> variables_;
  std::unique_ptr<Runner> runner_;
};

void run(double seconds) {
  fmt::print("{}\n", CudaBackend().name());
  fmt::print("{:<12} {:<5} {:<11} {:>8} {:>10} {:>12} {:>15}\n", "network", "", "algorithms",
             "ms/step", "images/s", "with upload", "without graphs");
  const std::pair<const char*, Network> networks[] = {{"resnet-44", resnet({.layers = 44})},
                                                      {"tutorial_cnn", tutorial_cnn()}};
  const std::pair<const char*, CudaPrecision> precisions[] = {{"fp32", CudaPrecision::fp32},
                                                              {"tf32", CudaPrecision::tf32},
                                                              {"bf16", CudaPrecision::bf16},
                                                              {"fp16", CudaPrecision::fp16}};
  for (const auto& [network_name, network] : networks) {
    const bool resnet = network.input_shape().height == 32;
    const ImageBatch batch = random_batch(network, resnet ? DType::uint8 : DType::float32);
    for (const auto& [precision_name, precision] : precisions)
      for (const bool measured : {false, true}) {
        const auto milliseconds = [&](bool graphs, bool upload) {
          CudaBackend backend(
              {.precision = precision, .measure_algorithms = measured, .graphs = graphs});
          StepTimer timer(backend, network, batch);
          return timer.measure(upload ? &batch : nullptr, seconds);
        };
        const double step = milliseconds(true, false);
        fmt::print("{:<12} {:<5} {:<11} {:8.3f} {:10.0f} {:12.3f} {:15.3f}\n", network_name,
                   precision_name, measured ? "measured" : "expected", step,
                   1e3 * static_cast<double>(kBatch) / step, milliseconds(true, true),
                   milliseconds(false, false));
        std::fflush(stdout);
      }
  }
}

}  // namespace
}  // namespace recordpipe

int main(int argc, char** argv) {
  try {
    recordpipe::run(argc > 1 ? std::atof(argv[1]) : 2);
  } catch (const recordpipe::Error& error) {
    fmt::print(stderr, "cuda_bench: {}\n", error.what());
    return error.kind() == recordpipe::ErrorKind::unsupported ? 77 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "cuda_bench: {}\n", error.what());
    return 1;
  }
  return 0;
}
