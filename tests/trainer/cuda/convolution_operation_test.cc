// Tests what cuDNN is told about convolutions, without a GPU: cuDNN can recommend engines and make
// plans for a GPU that is only described.
#include "trainer/backend/cuda/libraries/convolution_operation.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace recordpipe::cuda {
namespace {

constexpr size_t kWorkspaceBytes = size_t{256} << 20;

// In the format of cuDNN 9.19, with the properties of an H200 or an A100.
CudnnDescriptor described_gpu(int capability) {
  const bool hopper = capability == 900;
  const std::string json =
      std::string(R"({"maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64],
        "regsPerBlock": 65536, "warpSize": 32, "maxSharedMemoryPerBlock": 49152,
        "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536, "maxCtasPerSM": 32,
        "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "pciDeviceId": 6, "isTccDriver": 0,
        "supportCoopLaunch": 1, "driverVer": 13000, "cudaDeviceId": 0, "deviceVer": )") +
      std::to_string(capability) +
      (hopper ? R"(, "deviceName": "NVIDIA H200", "multiProcessorCount": 132,
                   "smClockRateKHz": 1980000, "memClockRateKHz": 3201000, "l2CacheSize": 62914560,
                   "maxSharedMemoryPerBlockOptin": 232448, "totalGlobalMem": 150754820096})"
              : R"(, "deviceName": "NVIDIA A100", "multiProcessorCount": 108,
                   "smClockRateKHz": 1410000, "memClockRateKHz": 1215000, "l2CacheSize": 41943040,
                   "maxSharedMemoryPerBlockOptin": 166912, "totalGlobalMem": 42505273344})");
  CudnnDescriptor device(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  device.set_values(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                    static_cast<int64_t>(json.size()), json.data());
  device.finalize();
  return device;
}

// The convolutions of ResNet and of the tutorial's network, with their channels padded.
std::vector<ConvolutionShape> shapes(Element element, bool tf32) {
  const auto lanes = static_cast<uint32_t>(lanes_of(element));
  const auto shape = [&](uint32_t in, uint32_t size, uint32_t out, uint32_t kernel,
                         uint32_t stride) {
    return ConvolutionShape{.element = element,
                            .tf32 = tf32,
                            .images = 128,
                            .in_channels = std::max(in, lanes),
                            .in_height = size,
                            .in_width = size,
                            .out_channels = out,
                            .out_height = size / stride,
                            .out_width = size / stride,
                            .kernel = kernel,
                            .stride = stride,
                            .padding = kernel / 2};
  };
  return {shape(3, 32, 16, 3, 1),  shape(16, 32, 16, 3, 1), shape(16, 32, 32, 3, 2),
          shape(32, 16, 32, 3, 1), shape(32, 16, 64, 3, 2), shape(64, 8, 64, 3, 1),
          shape(3, 24, 64, 5, 1),  shape(64, 12, 64, 5, 1)};
}

// The engines that may be used, by the same rules as on a GPU, and of those the ones with a plan.
struct Usable {
  size_t offered = 0, planned = 0;
  std::string problems;
};

Usable usable(const CudnnDescriptor& gpu, Direction direction, const ConvolutionShape& shape,
              bool accumulate) {
  Usable found;
  for (const CudnnEngineConfig& config :
       cudnn_engine_configs(gpu, operation_of(direction, shape, accumulate))) {
    const AlgorithmOffer offer = offer_of(config, direction, shape);
    const bool forbidden = shape.element == Element::float32 && !shape.tf32 && offer.tensor_cores;
    if (!offer.problem.empty() || !offer.deterministic || forbidden) continue;
    ++found.offered;
    CudnnDescriptor plan = cudnn_plan(gpu, config);
    const std::string problem = plan.try_to_finalize();
    if (problem.empty() && cudnn_workspace_bytes(plan) <= kWorkspaceBytes) ++found.planned;
    found.problems += offer.name + " " + problem + "; ";
  }
  return found;
}

class ConvolutionOperation : public testing::TestWithParam<int> {};

TEST_P(ConvolutionOperation, HasDeterministicEnginesForEachShapeAndPrecision) {
  const CudnnDescriptor gpu = described_gpu(GetParam());
  for (const auto& [element, tf32] :
       {std::pair(Element::float32, false), std::pair(Element::float32, true),
        std::pair(Element::bfloat16, false), std::pair(Element::float16, false)})
    for (const ConvolutionShape& shape : shapes(element, tf32))
      for (const Direction direction :
           {Direction::forward, Direction::backward_data, Direction::backward_weights})
        for (const bool accumulate : {false, true}) {
          if (accumulate && direction != Direction::backward_data) continue;
          const Usable found = usable(gpu, direction, shape, accumulate);
          EXPECT_GT(found.planned, 0u)
              << text_of(direction, shape, accumulate) << ": " << found.problems;
        }
}

// cuDNN says of some engines that their results differ from run to run, and that they round float32
// factors: these notes must be seen, because such engines are left out.
TEST_P(ConvolutionOperation, SeesWhatCudnnNotesAboutEngines) {
  const CudnnDescriptor gpu = described_gpu(GetParam());
  const ConvolutionShape shape = shapes(Element::float32, false).at(1);
  bool deterministic = false, not_deterministic = false, exact = false, tensor_cores = false;
  for (const CudnnEngineConfig& config :
       cudnn_engine_configs(gpu, operation_of(Direction::backward_weights, shape, false))) {
    const AlgorithmOffer offer = offer_of(config, Direction::backward_weights, shape);
    (offer.deterministic ? deterministic : not_deterministic) = true;
    (offer.tensor_cores ? tensor_cores : exact) = true;
  }
  EXPECT_TRUE(deterministic && not_deterministic && exact && tensor_cores)
      << deterministic << not_deterministic << exact << tensor_cores;
}

// Found on GPUs; this engine isn't listed for one that is only described.
TEST_P(ConvolutionOperation, LeavesOutTheInaccurateEngineForFloat32) {
  for (const bool tf32 : {false, true}) {
    const ConvolutionShape shape = shapes(Element::float32, tf32).back();
    const Direction direction = Direction::backward_weights;
    std::vector<CudnnEngineConfig> configs =
        cudnn_engine_configs(described_gpu(GetParam()), operation_of(direction, shape, false));
    const auto usable = std::ranges::find_if(configs, [&](const CudnnEngineConfig& config) {
      return offer_of(config, direction, shape).problem.empty();
    });
    ASSERT_NE(usable, configs.end());
    usable->engine = 17;
    EXPECT_EQ(offer_of(*usable, direction, shape).problem, "is inaccurate");
  }
}

INSTANTIATE_TEST_SUITE_P(Capability, ConvolutionOperation, testing::Values(800, 900));

// A plan is found again by this text.
TEST(ConvolutionOperation, TextsDifferWhereOperationsDo) {
  std::vector<std::string> texts;
  for (const auto& [element, tf32] :
       {std::pair(Element::float32, false), std::pair(Element::float32, true),
        std::pair(Element::bfloat16, false), std::pair(Element::float16, false)})
    for (const ConvolutionShape& shape : shapes(element, tf32))
      for (const Direction direction :
           {Direction::forward, Direction::backward_data, Direction::backward_weights})
        for (const bool accumulate : {false, true})
          texts.push_back(text_of(direction, shape, accumulate));
  std::ranges::sort(texts);
  EXPECT_EQ(std::ranges::adjacent_find(texts), texts.end());
}

}  // namespace
}  // namespace recordpipe::cuda
