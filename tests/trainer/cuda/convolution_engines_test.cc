// Runs, on a GPU, the engines of cuDNN that convolutions of these shapes may use, twice, and
// compares them with sums in double precision: --measure-algorithms may choose any of them.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/trainer/relative_error.h"
#include "trainer/backend/cuda/device/device_handles.h"
#include "trainer/backend/cuda/libraries/convolution_operation.h"

namespace recordpipe::cuda {
namespace {

struct Case {
  std::string name;
  Element element;
  bool tf32;
  double error;  // relative to the largest value

  friend void PrintTo(const Case& printed, std::ostream* out) { *out << printed.name; }
};

std::vector<Case> cases() {
  return {{"fp32", Element::float32, false, 2e-5},
          {"tf32", Element::float32, true, 3e-3},
          {"bf16", Element::bfloat16, false, 1e-2},
          {"fp16", Element::float16, false, 2e-3}};
}

// Values that the element type holds exactly, but no shorter one does.
std::vector<float> random_values(size_t size, Element element, uint32_t seed) {
  std::mt19937 bits(seed);
  std::vector<float> values(size);
  for (float& value : values) {
    value = static_cast<float>(bits() >> 8) / (1 << 23) - 1;
    with_element(element, [&]<class T>(T*) { value = widen(narrow<T>(value)); });
  }
  return values;
}

Buffer on_device(const Device& device, const std::vector<float>& values, Element element) {
  Buffer buffer(values.size() * size_of(element));
  with_element(element, [&]<class T>(T*) {
    std::vector<T> narrowed;
    for (const float value : values) narrowed.push_back(narrow<T>(value));
    copy_to_device(buffer.data(), narrowed.data(), buffer.bytes(), device.compute());
    device.synchronize();
  });
  return buffer;
}

std::vector<float> from_device(const Device& device, const Buffer& buffer, Element element) {
  std::vector<float> values;
  with_element(element, [&]<class T>(T*) {
    std::vector<T> narrowed(buffer.bytes() / sizeof(T));
    copy_from_device(narrowed.data(), buffer.data(), buffer.bytes(), device.compute());
    device.synchronize();
    for (const T value : narrowed) values.push_back(widen(value));
  });
  return values;
}

// x, weights and y, or their gradients: [images][height][width][channels] and
// [out][kernel][kernel][in].
using Tensors = std::array<std::vector<float>, 3>;

// Computes one of the tensors from the two others; `accumulate`: and from its previous contents.
std::vector<float> expected(Direction direction, const ConvolutionShape& shape, bool accumulate,
                            const Tensors& tensors) {
  const auto& [x, weights, y] = tensors;
  const size_t result = direction == Direction::forward         ? 2
                        : direction == Direction::backward_data ? 0
                                                                : 1;
  std::vector<double> sums(tensors[result].size());
  if (accumulate) sums.assign(tensors[result].begin(), tensors[result].end());
  const auto signed_of = [](uint32_t value) { return static_cast<int64_t>(value); };
  for (uint32_t image = 0; image < shape.images; ++image)
    for (uint32_t row = 0; row < shape.out_height; ++row)
      for (uint32_t column = 0; column < shape.out_width; ++column)
        for (uint32_t i = 0; i < shape.kernel; ++i)
          for (uint32_t j = 0; j < shape.kernel; ++j) {
            const int64_t from_row = signed_of(row * shape.stride + i) - shape.padding;
            const int64_t from_column = signed_of(column * shape.stride + j) - shape.padding;
            if (from_row < 0 || from_row >= shape.in_height || from_column < 0 ||
                from_column >= shape.in_width)
              continue;
            const size_t of_x = ((size_t{image} * shape.in_height + static_cast<size_t>(from_row)) *
                                     shape.in_width +
                                 static_cast<size_t>(from_column)) *
                                shape.in_channels;
            const size_t of_y =
                ((size_t{image} * shape.out_height + row) * shape.out_width + column) *
                shape.out_channels;
            for (size_t out = 0; out < shape.out_channels; ++out) {
              const size_t of_weights =
                  ((out * shape.kernel + i) * shape.kernel + j) * shape.in_channels;
              for (size_t in = 0; in < shape.in_channels; ++in) {
                const std::array<size_t, 3> at = {of_x + in, of_weights + in, of_y + out};
                const std::array<double, 3> values = {x[at[0]], weights[at[1]], y[at[2]]};
                sums[at[result]] += values[(result + 1) % 3] * values[(result + 2) % 3];
              }
            }
          }
  return {sums.begin(), sums.end()};
}

class ConvolutionEngines : public testing::TestWithParam<Case> {
 protected:
  void compare(const ConvolutionShape& shape) {
    const Element element = shape.element;
    const Tensors tensors = {
        random_values(size_t{shape.images} * shape.in_height * shape.in_width * shape.in_channels,
                      element, 1),
        random_values(size_t{shape.out_channels} * shape.kernel * shape.kernel * shape.in_channels,
                      element, 2),
        random_values(
            size_t{shape.images} * shape.out_height * shape.out_width * shape.out_channels, element,
            3)};
    compare(Direction::forward, 2, false, shape, tensors);
    compare(Direction::backward_data, 0, false, shape, tensors);
    compare(Direction::backward_data, 0, true, shape, tensors);
    compare(Direction::backward_weights, 1, false, shape, tensors);
  }

  ConvolutionShape shape(uint32_t images, uint32_t in, uint32_t size, uint32_t out, uint32_t kernel,
                         uint32_t stride) const {
    const Element element = GetParam().element;
    return {.element = element,
            .tf32 = GetParam().tf32,
            .images = images,
            .in_channels = static_cast<uint32_t>(padded(in, element)),
            .in_height = size,
            .in_width = size,
            .out_channels = static_cast<uint32_t>(padded(out, element)),
            .out_height = size / stride,
            .out_width = size / stride,
            .kernel = kernel,
            .stride = stride,
            .padding = kernel / 2};
  }

 private:
  // `result`: the index of the tensor that is computed.
  void compare(Direction direction, size_t result, bool accumulate, const ConvolutionShape& shape,
               const Tensors& tensors) {
    const bool rounds = shape.tf32 || shape.element != Element::float32;
    const std::string text = text_of(direction, shape, accumulate);
    const std::vector<float> wanted = expected(direction, shape, accumulate, tensors);
    size_t tried = 0;
    for (const CudnnEngineConfig& config :
         cudnn_engine_configs(gpu_, operation_of(direction, shape, accumulate))) {
      const AlgorithmOffer offer = offer_of(config, direction, shape);
      if (!offer.problem.empty() || !offer.deterministic || (offer.tensor_cores && !rounds))
        continue;
      CudnnDescriptor plan = cudnn_plan(gpu_, config);
      if (!plan.try_to_finalize().empty() ||
          cudnn_workspace_bytes(plan) > device_.workspace_bytes())
        continue;
      const auto first = run(plan, result, shape.element, tensors);
      if (!first) continue;
      ++tried;
      const double error = relative_error(*first, wanted);
      EXPECT_LE(error, GetParam().error) << text << ", " << offer.name;
      EXPECT_EQ(run(plan, result, shape.element, tensors), first)
          << text << ", " << offer.name << " gives other bits at another run";
      if (offer.tensor_cores) max_rounded_ = std::max(max_rounded_, error);
    }
    EXPECT_GT(tried, 0U) << text;
  }

  // Returns nothing if cuDNN refuses.
  std::optional<std::vector<float>> run(const CudnnDescriptor& plan, size_t result, Element element,
                                        const Tensors& tensors) const {
    std::array<Buffer, 3> buffers;
    for (size_t i = 0; i < 3; ++i) buffers[i] = on_device(device_, tensors[i], element);
    const std::array<void*, 3> pointers = {buffers[0].data(), buffers[1].data(), buffers[2].data()};
    if (cudnnBackendExecute(device_.handles().cudnn, plan.get(),
                            cudnn_pointers(pointers, device_.workspace()).get()) !=
        CUDNN_STATUS_SUCCESS)
      return {};
    return from_device(device_, buffers[result], element);
  }

  const Device device_{{}};
  const CudnnDescriptor gpu_ = cudnn_device(device_.handles().cudnn);

 protected:
  double max_rounded_ = 0;  // the largest error of an engine that rounds float32 factors
};

TEST_P(ConvolutionEngines, ComputeTheSameInResNet) {
  compare(shape(8, 3, 32, 16, 3, 1));
  compare(shape(8, 16, 32, 16, 3, 1));
  compare(shape(8, 16, 32, 32, 3, 2));
  compare(shape(8, 32, 16, 64, 3, 2));
  compare(shape(128, 64, 8, 64, 3, 1));
  // The tolerance for fp32 tells engines apart that round.
  if (GetParam().tf32) {
    EXPECT_GT(max_rounded_, cases().front().error);
  }
}

TEST_P(ConvolutionEngines, ComputeTheSameInTheTutorialCnn) {
  compare(shape(12, 3, 8, 64, 5, 1));
  compare(shape(4, 3, 24, 64, 5, 1));
  compare(shape(4, 64, 12, 64, 5, 1));
}

INSTANTIATE_TEST_SUITE_P(All, ConvolutionEngines, testing::ValuesIn(cases()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace recordpipe::cuda
