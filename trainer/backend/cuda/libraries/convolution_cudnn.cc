// Convolutions by cuDNN's graph interface; one engine is chosen for each direction.
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "recordpipe/trainer/backend/backend.h"
#include "trainer/backend/cuda/device/check_cuda.h"
#include "trainer/backend/cuda/device/device_handles.h"
#include "trainer/backend/cuda/libraries/algorithm_choice.h"
#include "trainer/backend/cuda/libraries/convolution_operation.h"

namespace recordpipe::cuda {
namespace {

constexpr const char* kConvolution = "a convolution";

// x, weights and y, or their gradients.
using Pointers = std::array<void*, 3>;

cudnnStatus_t execute(const Device& device, const CudnnDescriptor& plan, const Pointers& tensors) {
  const CudnnDescriptor pointers = cudnn_pointers(tensors, device.workspace());
  return cudnnBackendExecute(device.handles().cudnn, plan.get(), pointers.get());
}

// Returns the time of one of the repetitions that the graph holds, without the time that launching
// takes on the host.
double microseconds_of(const Graph& graph, int repetitions, Stream stream) {
  constexpr int rounds = 3;
  struct TimedEvent {
    cudaEvent_t event = nullptr;
    TimedEvent() { check(cudaEventCreate(&event), "making an event"); }
    ~TimedEvent() { cudaEventDestroy(event); }
    TimedEvent(const TimedEvent&) = delete;
    TimedEvent& operator=(const TimedEvent&) = delete;
  } start, end;
  graph.launch(stream);
  double least = 0;
  for (int round = 0; round < rounds; ++round) {
    check(cudaEventRecord(start.event, stream), "recording an event");
    graph.launch(stream);
    check(cudaEventRecord(end.event, stream), "recording an event");
    check(cudaEventSynchronize(end.event), "what was put on the GPU");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start.event, end.event), "measuring an algorithm");
    const double each = 1e3 * static_cast<double>(milliseconds) / repetitions;
    if (round == 0 || each < least) least = each;
  }
  return least;
}

// Runs a finalized plan, and captures it in a graph, as steps do.
AlgorithmTrial try_plan(const Device& device, const CudnnDescriptor& plan, bool measure,
                        const Pointers& tensors) {
  if (const size_t bytes = cudnn_workspace_bytes(plan); bytes > device.workspace_bytes())
    return {"needs a workspace of " + std::to_string(bytes) + " bytes"};
  const cudnnStatus_t status = execute(device, plan, tensors);
  device.synchronize();  // throws if it wasn't cuDNN that refused but the GPU that failed
  if (status != CUDNN_STATUS_SUCCESS) return {cudnnGetErrorString(status)};
  const int repetitions = measure ? 10 : 1;
  Graph graph;
  try {
    graph.capture(device.compute(), [&] {
      for (int i = 0; i < repetitions; ++i) check(execute(device, plan, tensors), kConvolution);
    });
  } catch (const DeviceError& error) {
    device.synchronize();
    return {"can't be captured in a graph: " + error.reason()};
  }
  if (!measure) return {};
  return {.microseconds = microseconds_of(graph, repetitions, device.compute())};
}

CudnnDescriptor make_plan(const Device& device, Direction direction, const ConvolutionShape& shape,
                          bool accumulate, bool measure, const Pointers& tensors) {
  const CudnnDescriptor gpu = cudnn_device(device.handles().cudnn);
  const std::vector<CudnnEngineConfig> configs =
      cudnn_engine_configs(gpu, operation_of(direction, shape, accumulate));
  std::vector<AlgorithmOffer> offers;
  for (const CudnnEngineConfig& config : configs)
    offers.push_back(offer_of(config, direction, shape));

  std::vector<std::optional<CudnnDescriptor>> plans(configs.size());
  const auto run = [&](size_t i) -> AlgorithmTrial {
    CudnnDescriptor plan = cudnn_plan(gpu, configs[i]);
    if (std::string problem = plan.try_to_finalize(); !problem.empty()) return {problem};
    AlgorithmTrial trial = try_plan(device, plan, measure, tensors);
    if (trial.problem.empty()) plans[i] = std::move(plan);
    return trial;
  };
  const size_t chosen = choose_algorithm(
      text_of(direction, shape, accumulate), offers,
      {.tensor_cores = shape.tf32 || shape.element != Element::float32}, measure, run);
  return std::move(*plans[chosen]);
}

}  // namespace

struct Convolution::Plan {
  const Device& device;
  const ConvolutionShape shape;
  const bool measure;
  std::array<std::shared_ptr<const CudnnDescriptor>, 3> plans = {};  // one for each direction

  void prepare(Direction direction, bool accumulate, const Pointers& tensors) {
    const std::string key = text_of(direction, shape, accumulate) + (measure ? ", measured" : "");
    auto& known = device.handles().plans[key];
    if (!known)
      known = std::make_shared<const CudnnDescriptor>(
          make_plan(device, direction, shape, accumulate, measure, tensors));
    plans[static_cast<size_t>(direction)] = known;
  }

  void run(Direction direction, const Pointers& tensors) const {
    check(execute(device, *plans[static_cast<size_t>(direction)], tensors), kConvolution);
  }
};

Convolution::Convolution(const Device& device, const ConvolutionShape& shape, bool measure)
    : plan_(std::make_unique<Plan>(device, shape, measure)) {}

Convolution::~Convolution() = default;

// cuDNN takes inputs as pointers to what it may change, too.
void Convolution::prepare_forward(const void* x, const void* weights, void* y) {
  plan_->prepare(Direction::forward, false, {const_cast<void*>(x), const_cast<void*>(weights), y});
}

void Convolution::prepare_backward_data(const void* weights, const void* dy, void* dx,
                                        bool accumulate) {
  plan_->prepare(Direction::backward_data, accumulate,
                 {dx, const_cast<void*>(weights), const_cast<void*>(dy)});
}

void Convolution::prepare_backward_weights(const void* x, const void* dy, void* dweights) {
  plan_->prepare(Direction::backward_weights, false,
                 {const_cast<void*>(x), dweights, const_cast<void*>(dy)});
}

void Convolution::forward(const void* x, const void* weights, void* y) const {
  plan_->run(Direction::forward, {const_cast<void*>(x), const_cast<void*>(weights), y});
}

void Convolution::backward_data(const void* weights, const void* dy, void* dx) const {
  plan_->run(Direction::backward_data, {dx, const_cast<void*>(weights), const_cast<void*>(dy)});
}

void Convolution::backward_weights(const void* x, const void* dy, void* dweights) const {
  plan_->run(Direction::backward_weights, {const_cast<void*>(x), dweights, const_cast<void*>(dy)});
}

}  // namespace recordpipe::cuda
