// A GPU for the CUDA backend's tests where there is none: plain memory, and work that is done when
// it is put into a stream. What it can't show: the order of streams, and what CUDA's libraries do.
#include "trainer/backend/cuda/device.h"

#include <cstring>
#include <new>
#include <utility>

namespace recordpipe::cuda {

struct Device::Handles {};

Device::Device(const DeviceOptions&) {}
Device::~Device() = default;
void Device::activate() const {}
std::string Device::gpu_name() const { return "emulated"; }
std::string Device::library_versions() const { return "no CUDA"; }
Stream Device::compute() const { return nullptr; }
Stream Device::copies() const { return nullptr; }
void Device::synchronize() const {}
void* Device::workspace() const { return nullptr; }
size_t Device::workspace_bytes() const { return 0; }

Buffer::Buffer(size_t bytes) : data_(::operator new (bytes, std::align_val_t{256})), bytes_(bytes) {
  std::memset(data_, 0, bytes);
}
Buffer::~Buffer() { ::operator delete (data_, std::align_val_t{256}); }
Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

PinnedBuffer::PinnedBuffer(size_t bytes) : data_(::operator new(bytes)) {
  std::memset(data_, 0, bytes);
}
PinnedBuffer::~PinnedBuffer() { ::operator delete(data_); }

void copy_to_device(void* to, const void* from, size_t bytes, Stream) {
  std::memcpy(to, from, bytes);
}
void copy_from_device(void* to, const void* from, size_t bytes, Stream) {
  std::memcpy(to, from, bytes);
}
void copy_on_device(void* to, const void* from, size_t bytes, Stream) {
  std::memcpy(to, from, bytes);
}

Event::Event() = default;
Event::~Event() { static_cast<void>(event_); }  // CUDA's
void Event::record(Stream) {}
void Event::wait() const {}
void Event::wait_in(Stream) const {}

Graph::~Graph() { static_cast<void>(graph_); }  // CUDA's
void Graph::capture(Stream, std::function<void()> work) { work_ = std::move(work); }
void Graph::launch(Stream) const { work_(); }

}  // namespace recordpipe::cuda
