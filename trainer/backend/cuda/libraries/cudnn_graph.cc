#include "trainer/backend/cuda/libraries/cudnn_graph.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "trainer/backend/cuda/device/device_handles.h"

namespace recordpipe::cuda {
namespace {

constexpr const char* kDescribing = "describing work to cuDNN";

constexpr std::array kPredictions = {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK};

std::vector<CudnnDescriptor> configurations(const CudnnDescriptor& device,
                                            const CudnnDescriptor& graph,
                                            cudnnBackendHeurMode_t prediction) {
  CudnnDescriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, prediction);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, device);
  // An operation that no engine of this kind supports.
  if (!heuristics.try_to_finalize().empty()) return {};
  const int64_t count = heuristics.get_values(CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                              CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr);
  std::vector<CudnnDescriptor> found;
  std::vector<cudnnBackendDescriptor_t> pointers;
  for (int64_t i = 0; i < count; ++i)
    pointers.push_back(found.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).get());
  const int64_t filled = heuristics.get_values(
      CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, pointers.data());
  found.erase(found.begin() + filled, found.end());
  return found;
}

CudnnEngineConfig described(CudnnDescriptor config) {
  CudnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t pointer = engine.get();
  config.get_values(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &pointer);
  const auto index =
      engine.values<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1).at(0);
  const auto numbers = engine.values<cudnnBackendNumericalNote_t>(
      CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  const auto behaviour = engine.values<cudnnBackendBehaviorNote_t>(
      CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE, CUDNN_BEHAVIOR_NOTE_TYPE_COUNT);
  const auto has = [](const auto& notes, auto note) {
    return std::ranges::find(notes, note) != notes.end();
  };
  return {.descriptor = std::move(config),
          .engine = index,
          .deterministic = !has(numbers, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC),
          .tensor_cores = has(numbers, CUDNN_NUMERICAL_NOTE_TENSOR_CORE),
          .converts = has(numbers, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS),
          .rounds_sums = has(numbers, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION),
          .compiles = has(behaviour, CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION)};
}

}  // namespace

CudnnDescriptor::CudnnDescriptor(cudnnBackendDescriptorType_t type) {
  check(cudnnBackendCreateDescriptor(type, &descriptor_), kDescribing);
}

CudnnDescriptor::~CudnnDescriptor() {
  if (descriptor_) cudnnBackendDestroyDescriptor(descriptor_);
}

CudnnDescriptor::CudnnDescriptor(CudnnDescriptor&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, nullptr)) {}

CudnnDescriptor& CudnnDescriptor::operator=(CudnnDescriptor&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

void CudnnDescriptor::set_values(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                 int64_t count, const void* values) {
  check(cudnnBackendSetAttribute(descriptor_, name, type, count, values), kDescribing);
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, int64_t value) {
  set_values(name, CUDNN_TYPE_INT64, 1, &value);
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, std::span<const int64_t> values) {
  set_values(name, CUDNN_TYPE_INT64, static_cast<int64_t>(values.size()), values.data());
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, float value) {
  set_values(name, CUDNN_TYPE_FLOAT, 1, &value);
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, std::span<void* const> pointers) {
  set_values(name, CUDNN_TYPE_VOID_PTR, static_cast<int64_t>(pointers.size()), pointers.data());
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value) {
  const cudnnBackendDescriptor_t pointer = value.get();
  set_values(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &pointer);
}

void CudnnDescriptor::finalize() { check(cudnnBackendFinalize(descriptor_), kDescribing); }

std::string CudnnDescriptor::try_to_finalize() {
  const cudnnStatus_t status = cudnnBackendFinalize(descriptor_);
  const auto category = CUDNN_STATUS_CATEGORY(status);
  if (category != CUDNN_STATUS_NOT_SUPPORTED && category != CUDNN_STATUS_BAD_PARAM)
    check(status, kDescribing);
  return status == CUDNN_STATUS_SUCCESS ? "" : cudnnGetErrorString(status);
}

int64_t CudnnDescriptor::get_values(cudnnBackendAttributeName_t name,
                                    cudnnBackendAttributeType_t type, int64_t most,
                                    void* values) const {
  int64_t count = 0;
  check(cudnnBackendGetAttribute(descriptor_, name, type, most, &count, values), kDescribing);
  return most == 0 ? count : std::min(count, most);
}

CudnnDescriptor cudnn_tensor(int64_t id, cudnnDataType_t type,
                             const std::array<int64_t, 4>& dimensions) {
  const auto& [images, channels, height, width] = dimensions;
  CudnnDescriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type);
  tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, int64_t{16});
  tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, dimensions);
  tensor.set(CUDNN_ATTR_TENSOR_STRIDES,
             std::array{height * width * channels, int64_t{1}, width * channels, channels});
  tensor.finalize();
  return tensor;
}

CudnnDescriptor cudnn_device(cudnnHandle_t handle) {
  CudnnDescriptor device(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  device.set(CUDNN_ATTR_DEVICEPROP_HANDLE, CUDNN_TYPE_HANDLE, handle);
  device.finalize();
  return device;
}

std::vector<CudnnEngineConfig> cudnn_engine_configs(const CudnnDescriptor& device,
                                                    const CudnnDescriptor& operation) {
  CudnnDescriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
  graph.finalize();
  std::vector<CudnnEngineConfig> configs;
  for (const cudnnBackendHeurMode_t prediction : kPredictions)
    for (CudnnDescriptor& config : configurations(device, graph, prediction))
      configs.push_back(described(std::move(config)));
  return configs;
}

CudnnDescriptor cudnn_plan(const CudnnDescriptor& device, const CudnnEngineConfig& config) {
  CudnnDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, device);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config.descriptor);
  return plan;
}

size_t cudnn_workspace_bytes(const CudnnDescriptor& plan) {
  return static_cast<size_t>(
      plan.values<int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1).at(0));
}

CudnnDescriptor cudnn_pointers(std::span<void* const> tensors, void* workspace) {
  std::vector<int64_t> ids(tensors.size());
  std::iota(ids.begin(), ids.end(), 0);
  CudnnDescriptor pointers(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pointers.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
  pointers.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, tensors);
  pointers.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, std::span<void* const>(&workspace, 1));
  pointers.finalize();
  return pointers;
}

}  // namespace recordpipe::cuda
