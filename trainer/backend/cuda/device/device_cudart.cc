// A GPU through the CUDA runtime.
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "recordpipe/base/error.h"
#include "trainer/backend/cuda/device/check_cuda.h"
#include "trainer/backend/cuda/device/device_handles.h"

namespace recordpipe::cuda {
namespace {

constexpr int min_capability = 8;
constexpr size_t min_cudnn = 90800;  // lists engines for a device that is described

[[noreturn]] void fail_without(const std::string& reason, const std::string& hint = {}) {
  throw Error({.kind = ErrorKind::unsupported, .reason = reason, .hint = hint});
}

std::string version_text(size_t version, size_t major_unit, size_t minor_unit) {
  return std::to_string(version / major_unit) + "." +
         std::to_string(version % major_unit / minor_unit);
}

// Throws if the device can't be used.
void require_usable(size_t index) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  cudaGetLastError();
  if (status == cudaErrorInsufficientDriver) {
    int driver = 0;
    cudaDriverGetVersion(&driver);
    if (driver == 0)
      fail_without("there is no NVIDIA driver on this machine", "use the cpu backend");
    fail_without("the NVIDIA driver is for CUDA " +
                     version_text(static_cast<size_t>(driver), 1000, 10) +
                     ", this program for CUDA " + version_text(CUDART_VERSION, 1000, 10),
                 "install a newer driver");
  }
  if (status == cudaErrorNoDevice || (status == cudaSuccess && count == 0))
    fail_without("there is no NVIDIA GPU on this machine, or CUDA_VISIBLE_DEVICES hides it",
                 "use the cpu backend");
  check(status, "counting the GPUs");
  if (index >= static_cast<size_t>(count))
    fail_without("there is no GPU " + std::to_string(index) + "; the last one is " +
                 std::to_string(count - 1));
  int major = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, static_cast<int>(index)),
        "asking for the GPU's compute capability");
  if (major < min_capability)
    fail_without("GPU " + std::to_string(index) + " has compute capability " +
                 std::to_string(major) + "; at least " + std::to_string(min_capability) +
                 ".0 is required");
}

// For destructors, which must not throw.
void ignore(cudaError_t) {}

}  // namespace

void check(cudnnStatus_t status, const char* action) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  char message[512] = "";
  cudnnGetLastErrorString(message, sizeof(message));
  if (status == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
      status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED)
    fail_for_memory();
  fail(CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_NOT_SUPPORTED ||
           status == CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH ||
           status == CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED,
       action,
       cudnnGetErrorString(status) +
           (message[0] != '\0' ? std::string(", ") + message : std::string()));
}

void check(cublasStatus_t status, const char* action) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  if (status == CUBLAS_STATUS_ALLOC_FAILED) fail_for_memory();
  fail(status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_ARCH_MISMATCH, action,
       cublasLtGetStatusString(status));
}

Device::Handles::~Handles() {
  ignore(cudaSetDevice(index));  // a library's handle belongs to the device on which it was made
  if (compute) ignore(cudaStreamSynchronize(compute));
  plans.clear();
  if (cublas_lt) cublasLtDestroy(cublas_lt);
  if (cudnn) cudnnDestroy(cudnn);
  if (copies) ignore(cudaStreamDestroy(copies));
  if (compute) ignore(cudaStreamDestroy(compute));
}

Device::Device(const DeviceOptions& options) {
  require_usable(options.index);
  handles_ = std::make_unique<Handles>();
  handles_->index = static_cast<int>(options.index);
  activate();
  // First, because cuDNN reports too little memory as another error.
  handles_->workspace = Buffer(options.workspace_bytes);
  check(cudaStreamCreateWithFlags(&handles_->compute, cudaStreamNonBlocking), "making a stream");
  check(cudaStreamCreateWithFlags(&handles_->copies, cudaStreamNonBlocking), "making a stream");
  if (const size_t cudnn = cudnnGetVersion(); cudnn < min_cudnn)
    fail_without("cuDNN " + version_text(cudnn, 10000, 100) + " is too old",
                 "install cuDNN 9.8 or later in the loader's path (LD_LIBRARY_PATH)");
  check(cudnnCreate(&handles_->cudnn), "starting cuDNN");
  check(cudnnSetStream(handles_->cudnn, handles_->compute), "starting cuDNN");
  check(cublasLtCreate(&handles_->cublas_lt), "starting cuBLASLt");
}

Device::~Device() = default;

void Device::activate() const { check(cudaSetDevice(handles_->index), "taking the GPU"); }

size_t Device::count() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  cudaGetLastError();
  return status == cudaSuccess ? static_cast<size_t>(count) : 0;
}

// The halves of the UUID, most of whose bits are random, one over the other.
uint64_t Device::id() const {
  cudaDeviceProp properties = {};
  check(cudaGetDeviceProperties(&properties, handles_->index), "asking for the GPU's id");
  std::array<uint64_t, 2> halves = {};
  static_assert(sizeof(halves) == sizeof(properties.uuid.bytes));
  std::memcpy(halves.data(), properties.uuid.bytes, sizeof(halves));
  return (halves[0] ^ halves[1]) >> 11;
}

std::string Device::gpu_name() const {
  cudaDeviceProp properties = {};
  check(cudaGetDeviceProperties(&properties, handles_->index), "asking for the GPU's name");
  return properties.name;
}

std::string Device::library_versions() const {
  const size_t cudnn = cudnnGetVersion();
  return "CUDA " + version_text(CUDART_VERSION, 1000, 10) + ", cuDNN " +
         version_text(cudnn, 10000, 100) + "." + std::to_string(cudnn % 100);
}

Stream Device::compute() const { return handles_->compute; }
Stream Device::copies() const { return handles_->copies; }

void Device::wait_for_compute() const {
  check(cudaStreamSynchronize(handles_->compute), "what was put on the GPU");
}

void* Device::workspace() const { return handles_->workspace.data(); }
size_t Device::workspace_bytes() const { return handles_->workspace.bytes(); }

// Waits until the zeros are written: streams created as non-blocking don't synchronise with the
// default stream.
Buffer::Buffer(size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  check(cudaMalloc(&data_, bytes), "taking memory");
  const cudaError_t cleared = cudaMemset(data_, 0, bytes);
  const cudaError_t done = cleared == cudaSuccess ? cudaStreamSynchronize(nullptr) : cleared;
  if (done != cudaSuccess) ignore(cudaFree(std::exchange(data_, nullptr)));
  check(done, "clearing memory");
}

Buffer::~Buffer() {
  if (data_) ignore(cudaFree(data_));
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

PinnedBuffer::PinnedBuffer(size_t bytes) {
  check(cudaMallocHost(&data_, bytes), "allocating pinned memory");
}

PinnedBuffer::~PinnedBuffer() { ignore(cudaFreeHost(data_)); }

void copy_to_device(void* to, const void* from, size_t bytes, Stream stream) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream), "a copy to the GPU");
}

void copy_from_device(void* to, const void* from, size_t bytes, Stream stream) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream), "a copy from the GPU");
}

void copy_on_device(void* to, const void* from, size_t bytes, Stream stream) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream), "a copy on the GPU");
}

Event::Event() {
  check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "making an event");
}

Event::~Event() { ignore(cudaEventDestroy(event_)); }

void Event::record(Stream stream) { check(cudaEventRecord(event_, stream), "recording an event"); }

bool Event::passed() const {
  const cudaError_t status = cudaEventQuery(event_);
  if (status == cudaErrorNotReady) return false;
  check(status, "what was put on the GPU");
  return true;
}

void Event::wait() const { check(cudaEventSynchronize(event_), "what was put on the GPU"); }

void Event::wait_in(Stream stream) const {
  check(cudaStreamWaitEvent(stream, event_, 0), "waiting for an event");
}

Graph::~Graph() {
  if (graph_) ignore(cudaGraphExecDestroy(graph_));
}

void Graph::capture(Stream stream, std::function<void()> work) {
  // Other threads may continue to use CUDA.
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capturing a graph");
  cudaGraph_t graph = nullptr;
  try {
    work();
  } catch (...) {
    ignore(cudaStreamEndCapture(stream, &graph));
    if (graph) ignore(cudaGraphDestroy(graph));
    cudaGetLastError();
    throw;
  }
  check(cudaStreamEndCapture(stream, &graph), "capturing a graph");
  const cudaError_t status = cudaGraphInstantiate(&graph_, graph, 0);
  ignore(cudaGraphDestroy(graph));
  check(status, "making a graph");
  work_ = std::move(work);
}

void Graph::launch(Stream stream) const {
  check(cudaGraphLaunch(graph_, stream), "starting a graph");
}

}  // namespace recordpipe::cuda
