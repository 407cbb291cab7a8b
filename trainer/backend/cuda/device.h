// What the CUDA backend needs of a GPU and its driver: memory, streams, events, graphs. One of two
// sources implements it: device_cudart.cc by the CUDA runtime, or, for tests on machines without a
// GPU, tests/trainer/cuda_emulation by plain memory and loops.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

struct CUstream_st;
struct CUevent_st;
struct CUgraphExec_st;

namespace recordpipe::cuda {

// What is put into a stream is done in that order, after the call that put it there has returned.
using Stream = CUstream_st*;

struct DeviceOptions {
  size_t index = 0;  // as CUDA counts those that CUDA_VISIBLE_DEVICES leaves
  // What cuDNN and cuBLASLt may use beside the tensors; taken when the device is opened.
  size_t workspace_bytes = size_t{256} << 20;
};

// One GPU with the handles and the scratch memory that all work on it shares. There is one stream
// for computing, so that what several runners and their variables do is in the order of the calls.
class Device {
 public:
  // Throws Error{unsupported} where there is no driver, no such device, one that is too old, or
  // where cuDNN can't be started; Error{limit_exceeded} where the workspace doesn't fit.
  explicit Device(const DeviceOptions& options);
  ~Device();

  // Makes it the calling thread's device. Every call from outside starts with it.
  void activate() const;

  std::string gpu_name() const;          // "NVIDIA H100 80GB HBM3"
  std::string library_versions() const;  // "CUDA 13.0, cuDNN 9.19.0"

  Stream compute() const;
  Stream copies() const;  // for uploads, beside the computing
  // Waits until all that was put into the compute stream is done.
  void synchronize() const;

  void* workspace() const;
  size_t workspace_bytes() const;

  // What the sources that know the libraries see.
  struct Handles;
  const Handles& handles() const { return *handles_; }

 private:
  std::unique_ptr<Handles> handles_;
};

// Memory on the device, zeros at first, aligned to 256 bytes. Throws Error{limit_exceeded}.
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

// Memory of the host that the device can read and write while the host does other things.
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

// Copies, in the order of the stream. `copy_from_device` needs pinned memory if the host is not to
// wait for it.
void copy_to_device(void* to, const void* from, size_t bytes, Stream stream);
void copy_from_device(void* to, const void* from, size_t bytes, Stream stream);
void copy_on_device(void* to, const void* from, size_t bytes, Stream stream);

// A point in a stream's work. One that was never recorded has passed.
class Event {
 public:
  Event();
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(Stream stream);
  void wait() const;                  // the host waits
  void wait_in(Stream stream) const;  // what is put into `stream` from now on waits

 private:
  CUevent_st* event_ = nullptr;
};

// Work that is described to the driver once and then started as one.
class Graph {
 public:
  Graph() = default;
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  bool captured() const { return static_cast<bool>(work_); }
  // Calls `work`, whose work on `stream` is written down instead of done. `work` takes no memory
  // and waits for nothing.
  void capture(Stream stream, std::function<void()> work);
  void launch(Stream stream) const;

 private:
  std::function<void()> work_;
  CUgraphExec_st* graph_ = nullptr;
};

}  // namespace recordpipe::cuda
