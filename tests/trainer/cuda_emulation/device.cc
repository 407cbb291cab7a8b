// Emulates a GPU for the CUDA backend's tests. Work on a stream is deferred until the host waits
// for something. Then one piece of work at a time, from a random stream, is executed as far as
// events allow. A copy that doesn't wait for its input, or memory that is reused too early,
// therefore shows as a wrong result. The emulation doesn't cover CUDA's libraries.
#include "trainer/backend/cuda/device.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#include "recordpipe/philox.h"
#include "trainer/backend/cuda/launch.h"

struct CUevent_st {
  uint64_t recorded = 0;  // number of recordings
  uint64_t passed = 0;
};

struct CUstream_st {
  // Work that returns whether it was done: false while it waits for an event.
  std::deque<std::function<bool()>> work;
  // The destination of the stream's work while a graph is captured.
  std::vector<std::function<bool()>>* graph = nullptr;

  void put(std::function<bool()> next) {
    if (graph)
      graph->push_back(std::move(next));
    else
      work.push_back(std::move(next));
  }
};

struct CUgraphExec_st {
  std::vector<std::function<bool()>> work;
};

namespace recordpipe::cuda {
namespace {

struct Scheduler {
  std::vector<Stream> streams;
  Random random{derive_key(1, 2), 0, 0};

  // Runs the streams' work until `condition` holds.
  template <class Condition>
  void run_until(Condition condition) {
    while (!condition()) {
      // Some stream can always continue, unless one waits for an event that is never recorded.
      const size_t first = random.below(static_cast<uint32_t>(streams.size()));
      bool any = false;
      for (size_t i = 0; i < streams.size() && !any; ++i) {
        auto& work = streams[(first + i) % streams.size()]->work;
        if (work.empty() || !work.front()()) continue;
        work.pop_front();
        any = true;
      }
      if (!any) throw std::logic_error("the streams wait for each other");
    }
  }

  void run_all() {
    run_until([this] {
      return std::ranges::all_of(streams, [](Stream stream) { return stream->work.empty(); });
    });
  }
};

Scheduler& scheduler() {
  static auto& only = *new Scheduler;  // outlives everything that has streams
  return only;
}

}  // namespace

void run_on(Stream stream, std::function<void()> work) {
  stream->put([work = std::move(work)] {
    work();
    return true;
  });
}

struct Device::Handles {
  CUstream_st compute, copies;
};

Device::Device(const DeviceOptions&) : handles_(std::make_unique<Handles>()) {
  scheduler().streams.push_back(&handles_->compute);
  scheduler().streams.push_back(&handles_->copies);
}

Device::~Device() {
  scheduler().run_all();
  std::erase(scheduler().streams, &handles_->compute);
  std::erase(scheduler().streams, &handles_->copies);
}

void Device::activate() const {}
std::string Device::gpu_name() const { return "emulated"; }
std::string Device::library_versions() const { return "no CUDA"; }
Stream Device::compute() const { return &handles_->compute; }
Stream Device::copies() const { return &handles_->copies; }
void Device::synchronize() const {
  scheduler().run_until([this] { return handles_->compute.work.empty(); });
}
void* Device::workspace() const { return nullptr; }
size_t Device::workspace_bytes() const { return 0; }

Buffer::Buffer(size_t bytes) : data_(::operator new (bytes, std::align_val_t{256})), bytes_(bytes) {
  std::memset(data_, 0, bytes);
}
// cudaFree() waits for the device.
Buffer::~Buffer() {
  if (data_) scheduler().run_all();
  ::operator delete (data_, std::align_val_t{256});
}
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

void copy_to_device(void* to, const void* from, size_t bytes, Stream stream) {
  run_on(stream, [=] { std::memcpy(to, from, bytes); });
}
void copy_from_device(void* to, const void* from, size_t bytes, Stream stream) {
  run_on(stream, [=] { std::memcpy(to, from, bytes); });
}
void copy_on_device(void* to, const void* from, size_t bytes, Stream stream) {
  run_on(stream, [=] { std::memcpy(to, from, bytes); });
}

Event::Event() : event_(new CUevent_st) {}
Event::~Event() {
  scheduler().run_all();
  delete event_;
}
void Event::record(Stream stream) {
  run_on(stream, [event = event_, number = ++event_->recorded] { event->passed = number; });
}
void Event::wait() const {
  scheduler().run_until([this] { return event_->passed == event_->recorded; });
}
void Event::wait_in(Stream stream) const {
  stream->put([event = event_, number = event_->recorded] { return event->passed >= number; });
}

Graph::~Graph() {
  scheduler().run_all();
  delete graph_;
}
void Graph::capture(Stream stream, std::function<void()> work) {
  work_ = std::move(work);
  graph_ = new CUgraphExec_st;
  stream->graph = &graph_->work;
  work_();
  stream->graph = nullptr;
}
void Graph::launch(Stream stream) const {
  for (const auto& work : graph_->work) stream->put(work);
}

}  // namespace recordpipe::cuda
