// cuDNN's graph interface, as far as one operation needs it: descriptors, the engines that cuDNN
// recommends, and plans.
// https://docs.nvidia.com/deeplearning/cudnn/backend/latest/api/cudnn-graph-library.html
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <cudnn.h>

namespace recordpipe::cuda {

// Throws as check() of device_handles.h.
class CudnnDescriptor {
 public:
  explicit CudnnDescriptor(cudnnBackendDescriptorType_t type);
  ~CudnnDescriptor();
  CudnnDescriptor(CudnnDescriptor&& other) noexcept;
  CudnnDescriptor& operator=(CudnnDescriptor&& other) noexcept;

  cudnnBackendDescriptor_t get() const { return descriptor_; }

  void set(cudnnBackendAttributeName_t name, int64_t value);
  void set(cudnnBackendAttributeName_t name, std::span<const int64_t> values);
  void set(cudnnBackendAttributeName_t name, float value);
  void set(cudnnBackendAttributeName_t name, std::span<void* const> pointers);
  void set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value);
  // An enumeration or a handle, whose attribute type is `type`.
  template <class T>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, T value) {
    set_values(name, type, 1, &value);
  }
  void set_values(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                  const void* values);

  void finalize();
  // Returns the reason if cuDNN doesn't support this, or an empty string. Throws if it fails.
  std::string try_to_finalize();

  // The values of an attribute, at most `most`.
  template <class T>
  std::vector<T> values(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                        int64_t most) const {
    std::vector<T> found(static_cast<size_t>(most));
    found.resize(static_cast<size_t>(get_values(name, type, most, found.data())));
    return found;
  }
  int64_t get_values(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                     int64_t most, void* values) const;

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

// A tensor of four dimensions, the first two of which are NC or KC, stored with channels last and
// aligned to 16 bytes. `id`: different for each tensor of an operation.
CudnnDescriptor cudnn_tensor(int64_t id, cudnnDataType_t type,
                             const std::array<int64_t, 4>& dimensions);

// The device of a handle.
CudnnDescriptor cudnn_device(cudnnHandle_t handle);

// An engine with the choices of its knobs: a way to compute an operation.
struct CudnnEngineConfig {
  CudnnDescriptor descriptor;
  int64_t engine;  // cuDNN's index, among the engines of the operation's kind
  bool deterministic;
  bool tensor_cores;  // float32 factors are multiplied with a shorter mantissa
  bool converts;      // inputs are converted to a type of 16 bits
  bool rounds_sums;   // sums are computed in 16 bits
  bool compiles;      // its kernel is compiled when the plan is made, which takes seconds
};

// The configurations that cuDNN recommends for a finalized operation, the fastest first by its
// prediction; then those that it falls back to, which may be listed twice.
std::vector<CudnnEngineConfig> cudnn_engine_configs(const CudnnDescriptor& device,
                                                    const CudnnDescriptor& operation);

// A plan to run a configuration, not finalized yet.
CudnnDescriptor cudnn_plan(const CudnnDescriptor& device, const CudnnEngineConfig& config);

// Of a finalized plan.
size_t cudnn_workspace_bytes(const CudnnDescriptor& plan);

// The pointers that a plan is executed with. Those of tensors are in the order of their ids, which
// start at 0.
CudnnDescriptor cudnn_pointers(std::span<void* const> tensors, void* workspace);

}  // namespace recordpipe::cuda
