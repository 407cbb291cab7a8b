// Convolutions by cuDNN's convolution functions; one algorithm is chosen for each direction.
//
// The graph interface could fuse more, but these functions fail in fewer ways, and own kernels
// already do the worthwhile fusion (batch norm's sums).
#include <string>
#include <vector>

#include "trainer/backend/cuda/algorithm_choice.h"
#include "trainer/backend/cuda/convolution.h"
#include "trainer/backend/cuda/device_handles.h"

namespace recordpipe::cuda {
namespace {

constexpr int most_algorithms = 32;  // more than cuDNN has

cudnnDataType_t type_of(Element element) {
  switch (element) {
    case Element::float32:
      return CUDNN_DATA_FLOAT;
    case Element::bfloat16:
      return CUDNN_DATA_BFLOAT16;
    case Element::float16:
      return CUDNN_DATA_HALF;
  }
  return CUDNN_DATA_FLOAT;
}

int number(uint32_t value) { return static_cast<int>(value); }

struct TensorDescriptor {
  cudnnTensorDescriptor_t handle = nullptr;

  TensorDescriptor(Element element, uint32_t images, uint32_t channels, uint32_t height,
                   uint32_t width) {
    check(cudnnCreateTensorDescriptor(&handle), "describing a tensor");
    check(cudnnSetTensor4dDescriptor(handle, CUDNN_TENSOR_NHWC, type_of(element), number(images),
                                     number(channels), number(height), number(width)),
          "describing a tensor");
  }
  ~TensorDescriptor() { cudnnDestroyTensorDescriptor(handle); }
  TensorDescriptor(const TensorDescriptor&) = delete;
  TensorDescriptor& operator=(const TensorDescriptor&) = delete;
};

struct FilterDescriptor {
  cudnnFilterDescriptor_t handle = nullptr;

  explicit FilterDescriptor(const ConvolutionShape& shape) {
    check(cudnnCreateFilterDescriptor(&handle), "describing weights");
    check(cudnnSetFilter4dDescriptor(handle, type_of(shape.element), CUDNN_TENSOR_NHWC,
                                     number(shape.out_channels), number(shape.in_channels),
                                     number(shape.kernel), number(shape.kernel)),
          "describing weights");
  }
  ~FilterDescriptor() { cudnnDestroyFilterDescriptor(handle); }
  FilterDescriptor(const FilterDescriptor&) = delete;
  FilterDescriptor& operator=(const FilterDescriptor&) = delete;
};

// The units that may multiply. By default cuDNN uses tf32 for float32.
cudnnMathType_t math_of(const ConvolutionShape& shape) {
  if (shape.element != Element::float32) return CUDNN_TENSOR_OP_MATH;
  return shape.tf32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
}

// One of the convolution's three directions: its algorithm and its descriptor, which includes the
// allowed units.
struct Direction {
  cudnnConvolutionDescriptor_t handle = nullptr;
  int algorithm = 0;
  size_t workspace_bytes = 0;

  explicit Direction(const ConvolutionShape& shape) {
    check(cudnnCreateConvolutionDescriptor(&handle), "describing a convolution");
    const int padding = number(shape.padding), stride = number(shape.stride);
    check(cudnnSetConvolution2dDescriptor(handle, padding, padding, stride, stride, 1, 1,
                                          CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
          "describing a convolution");
    use(math_of(shape));
  }
  ~Direction() { cudnnDestroyConvolutionDescriptor(handle); }
  Direction(const Direction&) = delete;
  Direction& operator=(const Direction&) = delete;

  void use(cudnnMathType_t math) {
    check(cudnnSetConvolutionMathType(handle, math), "describing a convolution");
  }
};

std::string text_of(const ConvolutionShape& shape) {
  const auto size = [](uint32_t a, uint32_t b, uint32_t c) {
    return std::to_string(a) + "x" + std::to_string(b) + "x" + std::to_string(c);
  };
  return std::to_string(shape.images) + " images of " +
         size(shape.in_channels, shape.in_height, shape.in_width) + " to " +
         size(shape.out_channels, shape.out_height, shape.out_width) + ", kernel " +
         std::to_string(shape.kernel) + ", stride " + std::to_string(shape.stride) + ", padding " +
         std::to_string(shape.padding);
}

// Selects one of the algorithms that cuDNN lists, the fastest first. `run` returns cuDNN's status.
template <class Performance, class Run>
void choose(Direction& direction, const ConvolutionShape& shape, const Device& device,
            const std::vector<Performance>& found, Run run) {
  std::vector<AlgorithmOffer> offers;
  for (const Performance& performance : found) {
    const bool listed = performance.status == CUDNN_STATUS_SUCCESS;
    const cudnnMathType_t math = performance.mathType;
    offers.push_back({.name = "algorithm " + std::to_string(performance.algo) + " (math " +
                              std::to_string(math) + ")",
                      .problem = listed ? "" : cudnnGetErrorString(performance.status),
                      .deterministic = performance.determinism == CUDNN_DETERMINISTIC,
                      .tensor_cores = math == CUDNN_TENSOR_OP_MATH ||
                                      math == CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION,
                      .workspace_bytes = performance.memory});
  }
  const bool tensor_cores = math_of(shape) != CUDNN_FMA_MATH;
  choose_algorithm(
      "a convolution of " + text_of(shape), offers,
      {.tensor_cores = tensor_cores, .workspace_bytes = device.workspace_bytes()},
      [&](size_t i) -> std::string {
        // In fp32 the descriptor keeps forbidding tensor cores.
        if (tensor_cores) direction.use(found[i].mathType);
        direction.algorithm = static_cast<int>(found[i].algo);
        direction.workspace_bytes = found[i].memory;
        const cudnnStatus_t status = run();
        if (status == CUDNN_STATUS_SUCCESS) return {};
        device.synchronize();  // throws if it wasn't cuDNN that refused but the GPU that failed
        return cudnnGetErrorString(status);
      });
}

}  // namespace

struct Convolution::Plan {
  const Device& device;
  const ConvolutionShape shape;
  const bool measure;
  TensorDescriptor x, y;
  FilterDescriptor weights;
  Direction forward, backward_data, backward_weights;
  bool accumulate = false;  // in backward_data

  Plan(const Device& own, const ConvolutionShape& wanted, bool measure_algorithms)
      : device(own),
        shape(wanted),
        measure(measure_algorithms),
        x(shape.element, shape.images, shape.in_channels, shape.in_height, shape.in_width),
        y(shape.element, shape.images, shape.out_channels, shape.out_height, shape.out_width),
        weights(shape),
        forward(shape),
        backward_data(shape),
        backward_weights(shape) {}

  cudnnHandle_t handle() const { return device.handles().cudnn; }

  cudnnStatus_t run_forward(const void* from, const void* w, void* to) const {
    const float alpha = 1, beta = 0;
    return cudnnConvolutionForward(
        handle(), &alpha, x.handle, from, weights.handle, w, forward.handle,
        static_cast<cudnnConvolutionFwdAlgo_t>(forward.algorithm), device.workspace(),
        forward.workspace_bytes, &beta, y.handle, to);
  }

  cudnnStatus_t run_backward_data(const void* w, const void* dy, void* dx) const {
    const float alpha = 1, beta = accumulate ? 1 : 0;
    return cudnnConvolutionBackwardData(
        handle(), &alpha, weights.handle, w, y.handle, dy, backward_data.handle,
        static_cast<cudnnConvolutionBwdDataAlgo_t>(backward_data.algorithm), device.workspace(),
        backward_data.workspace_bytes, &beta, x.handle, dx);
  }

  cudnnStatus_t run_backward_weights(const void* from, const void* dy, void* dw) const {
    const float alpha = 1, beta = 0;
    return cudnnConvolutionBackwardFilter(
        handle(), &alpha, x.handle, from, y.handle, dy, backward_weights.handle,
        static_cast<cudnnConvolutionBwdFilterAlgo_t>(backward_weights.algorithm),
        device.workspace(), backward_weights.workspace_bytes, &beta, weights.handle, dw);
  }
};

Convolution::Convolution(const Device& device, const ConvolutionShape& shape, bool measure)
    : plan_(std::make_unique<Plan>(device, shape, measure)) {}

Convolution::~Convolution() = default;

void Convolution::prepare_forward(const void* x, const void* weights, void* y) {
  Plan& p = *plan_;
  std::vector<cudnnConvolutionFwdAlgoPerf_t> found(most_algorithms);
  int count = 0;
  const cudnnStatus_t status =
      p.measure ? cudnnFindConvolutionForwardAlgorithmEx(
                      p.handle(), p.x.handle, x, p.weights.handle, weights, p.forward.handle,
                      p.y.handle, y, most_algorithms, &count, found.data(), p.device.workspace(),
                      p.device.workspace_bytes())
                : cudnnGetConvolutionForwardAlgorithm_v7(p.handle(), p.x.handle, p.weights.handle,
                                                         p.forward.handle, p.y.handle,
                                                         most_algorithms, &count, found.data());
  check(status, "choosing a convolution");
  found.resize(static_cast<size_t>(count));
  choose(p.forward, p.shape, p.device, found, [&] { return p.run_forward(x, weights, y); });
}

void Convolution::prepare_backward_data(const void* weights, const void* dy, void* dx,
                                        bool accumulate) {
  Plan& p = *plan_;
  p.accumulate = accumulate;
  std::vector<cudnnConvolutionBwdDataAlgoPerf_t> found(most_algorithms);
  int count = 0;
  const cudnnStatus_t status =
      p.measure ? cudnnFindConvolutionBackwardDataAlgorithmEx(
                      p.handle(), p.weights.handle, weights, p.y.handle, dy, p.backward_data.handle,
                      p.x.handle, dx, most_algorithms, &count, found.data(), p.device.workspace(),
                      p.device.workspace_bytes())
                : cudnnGetConvolutionBackwardDataAlgorithm_v7(
                      p.handle(), p.weights.handle, p.y.handle, p.backward_data.handle, p.x.handle,
                      most_algorithms, &count, found.data());
  check(status, "choosing a convolution's gradient");
  found.resize(static_cast<size_t>(count));
  choose(p.backward_data, p.shape, p.device, found,
         [&] { return p.run_backward_data(weights, dy, dx); });
}

void Convolution::prepare_backward_weights(const void* x, const void* dy, void* dweights) {
  Plan& p = *plan_;
  std::vector<cudnnConvolutionBwdFilterAlgoPerf_t> found(most_algorithms);
  int count = 0;
  const cudnnStatus_t status =
      p.measure ? cudnnFindConvolutionBackwardFilterAlgorithmEx(
                      p.handle(), p.x.handle, x, p.y.handle, dy, p.backward_weights.handle,
                      p.weights.handle, dweights, most_algorithms, &count, found.data(),
                      p.device.workspace(), p.device.workspace_bytes())
                : cudnnGetConvolutionBackwardFilterAlgorithm_v7(
                      p.handle(), p.x.handle, p.y.handle, p.backward_weights.handle,
                      p.weights.handle, most_algorithms, &count, found.data());
  check(status, "choosing a convolution's gradient");
  found.resize(static_cast<size_t>(count));
  choose(p.backward_weights, p.shape, p.device, found,
         [&] { return p.run_backward_weights(x, dy, dweights); });
}

void Convolution::forward(const void* x, const void* weights, void* y) const {
  check(plan_->run_forward(x, weights, y), "a convolution");
}

void Convolution::backward_data(const void* weights, const void* dy, void* dx) const {
  check(plan_->run_backward_data(weights, dy, dx), "a convolution's gradient");
}

void Convolution::backward_weights(const void* x, const void* dy, void* dweights) const {
  check(plan_->run_backward_weights(x, dy, dweights), "a convolution's gradient");
}

}  // namespace recordpipe::cuda
