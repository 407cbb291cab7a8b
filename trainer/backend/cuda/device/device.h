// The GPU and driver functions of the CUDA backend: memory, streams, events, graphs. There are two
// implementations: device_cudart.cc with the CUDA runtime, and tests/trainer/cuda_emulation with
// plain memory and loops, for tests on machines without a GPU. device_waits.cc is common to both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

struct CUstream_st;
struct CUevent_st;
struct CUgraphExec_st;

namespace recordpipe::cuda {

// A queue of work on the device, executed in order and asynchronously.
using Stream = CUstream_st*;

class Event;

struct DeviceOptions {
  size_t index = 0;  // CUDA's index, among the devices in CUDA_VISIBLE_DEVICES
  // The workspace for cuDNN and cuBLASLt, beside the tensors; allocated when the device is opened.
  size_t workspace_bytes = size_t{256} << 20;
};

// One GPU with the handles and the scratch memory shared by all work on it. There is one compute
// stream, so the work of several runners and their variables is executed in the order of the calls.
class Device {
 public:
  // Throws Error{unsupported} if there is no driver, no such device, or one that is too old;
  // Error{limit_exceeded} if the workspace doesn't fit; DeviceError if the device or a library
  // fails, as every later function may.
  explicit Device(const DeviceOptions& options);
  ~Device();

  // Makes it the calling thread's current device. Every public function calls it first.
  void activate() const;

  // The number of GPUs that this process can see; 0 if there is no driver.
  static size_t count();

  uint64_t id() const;                   // 53 bits; different for all GPUs of all machines
  std::string gpu_name() const;          // "NVIDIA H100 80GB HBM3"
  std::string library_versions() const;  // "CUDA 13.0, cuDNN 9.19.0"

  Stream compute() const;
  Stream copies() const;  // for uploads, concurrent with computation
  // Waits for all work on the compute stream.
  void synchronize() const;
  void wait(const Event& event) const;
  // The same as synchronize() for destructors: doesn't throw, and waits also after a failure, while
  // work that is still running may use memory.
  void finish() const noexcept;
  // Copy to and from host memory in the order of the compute stream, and wait until that is done.
  void read(void* to, const void* from, size_t bytes) const;
  void write(void* to, const void* from, size_t bytes) const;
  // `watch` is called repeatedly while one of the functions above waits, and an exception from
  // it ends the wait: for work that needs other GPUs, which may fail. Empty: they only wait.
  void set_watch(std::function<void()> watch);

  void* workspace() const;
  size_t workspace_bytes() const;

  // For the sources that call the libraries.
  struct Handles;
  const Handles& handles() const { return *handles_; }

 private:
  void wait_for_compute() const;  // synchronize(), unwatched

  std::unique_ptr<Handles> handles_;
  std::function<void()> watch_;
  std::unique_ptr<Event> computed_;  // if there is a watch: for synchronize()
};

// Device memory, initially zero, aligned to 256 bytes. Throws Error{limit_exceeded}.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(size_t bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;

  void* data() const { return data_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

// Host memory that the device can access asynchronously.
class PinnedBuffer {
 public:
  explicit PinnedBuffer(size_t bytes);
  ~PinnedBuffer();
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;

  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
};

// Copies, in stream order. `copy_from_device` is asynchronous only if the host memory is pinned.
void copy_to_device(void* to, const void* from, size_t bytes, Stream stream);
void copy_from_device(void* to, const void* from, size_t bytes, Stream stream);
void copy_on_device(void* to, const void* from, size_t bytes, Stream stream);

// A point in a stream's work. An event that was never recorded counts as passed.
class Event {
 public:
  Event();
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(Stream stream);
  bool passed() const;                // doesn't wait
  void wait() const;                  // blocks the host
  void wait_in(Stream stream) const;  // later work on `stream` waits

 private:
  CUevent_st* event_ = nullptr;
};

// Work that is described to the driver once and then launched as a unit.
class Graph {
 public:
  Graph() = default;
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  bool captured() const { return static_cast<bool>(work_); }
  // Calls `work` and captures its work on `stream` instead of executing it. `work` must not
  // allocate memory or wait.
  void capture(Stream stream, std::function<void()> work);
  void launch(Stream stream) const;

 private:
  std::function<void()> work_;
  CUgraphExec_st* graph_ = nullptr;
};

}  // namespace recordpipe::cuda
