// Emulates GPUs for the CUDA backend's tests. Work is refused for a GPU that is not the thread's
// current one. It is deferred until the host waits for something. Then one piece of work at a time,
// from a random stream, is executed as far as events allow. A copy that doesn't wait for its input,
// or memory that is reused too early, therefore shows as a wrong result. The emulation doesn't
// cover CUDA's libraries.
#include "trainer/backend/cuda/device/device.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "recordpipe/base/error.h"
#include "recordpipe/base/philox.h"
#include "tests/trainer/cuda_emulation/machine.h"
#include "trainer/backend/cuda/kernels/launch.h"

namespace {
// The handles of the device that was activated last.
thread_local const void* current_device = nullptr;
}  // namespace

struct CUevent_st {
  uint64_t recorded = 0;  // number of recordings
  uint64_t passed = 0;
};

struct CUstream_st {
  const void* owner = nullptr;  // the device's handles
  // Work that returns whether it was done: false while it waits for an event.
  std::deque<std::function<bool()>> work;
  // The destination of the stream's work while a graph is captured.
  std::vector<std::function<bool()>>* graph = nullptr;

  void put(std::function<bool()> next) {
    if (owner != current_device)
      throw std::logic_error("work for a GPU that is not the thread's current one");
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

  // Runs a piece of a random stream's work. Returns whether there was one.
  bool run_one() {
    const size_t first = random.below(static_cast<uint32_t>(streams.size()));
    for (size_t i = 0; i < streams.size(); ++i) {
      auto& work = streams[(first + i) % streams.size()]->work;
      if (work.empty() || !work.front()()) continue;
      work.pop_front();
      return true;
    }
    return false;
  }

  // Runs the streams' work until `condition` holds.
  template <class Condition>
  void run_until(Condition condition) {
    while (!condition())
      // Some stream can always continue, unless one waits for an event that is never recorded.
      if (!run_one()) throw std::logic_error("the streams wait for each other");
  }

  void run_all() {
    run_until([this] {
      return std::ranges::all_of(streams, [](Stream stream) { return stream->work.empty(); });
    });
  }
};

// One per thread, so that threads can stand for processes.
Scheduler& scheduler() {
  thread_local Scheduler of_thread;
  return of_thread;
}

std::mutex pinned_mutex;
std::map<const std::byte*, size_t> pinned;  // the size of each PinnedBuffer

// As a driver may, with host memory that isn't pinned: waits for the work before the copy.
void block_unless_pinned(const void* host, Stream stream) {
  const auto* at = static_cast<const std::byte*>(host);
  {
    const std::lock_guard lock(pinned_mutex);
    const auto after = pinned.upper_bound(at);
    if (after != pinned.begin() && at < std::prev(after)->first + std::prev(after)->second) return;
  }
  scheduler().run_until([=] { return stream->work.empty(); });
}

}  // namespace

EmulatedMachine& emulated_machine() {
  thread_local EmulatedMachine of_thread;
  return of_thread;
}

void run_on(Stream stream, std::function<void()> work) {
  stream->put([work = std::move(work)] {
    work();
    return true;
  });
}

void wait_until(Stream stream, std::function<bool()> condition) {
  stream->put(std::move(condition));
}

void make_current(Stream stream) { current_device = stream->owner; }

struct Device::Handles {
  uint64_t id = 0;
  CUstream_st compute, copies;
};

size_t Device::count() { return emulated_machine().gpus; }

Device::Device(const DeviceOptions& options) : handles_(std::make_unique<Handles>()) {
  const EmulatedMachine& machine = emulated_machine();
  if (options.index >= machine.gpus)
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = "there is no GPU " + std::to_string(options.index)});
  machine.open_device();
  handles_->id = machine.first_gpu + options.index;
  handles_->compute.owner = handles_->copies.owner = handles_.get();
  activate();
  scheduler().streams.push_back(&handles_->compute);
  scheduler().streams.push_back(&handles_->copies);
}

Device::~Device() {
  scheduler().run_all();
  std::erase(scheduler().streams, &handles_->compute);
  std::erase(scheduler().streams, &handles_->copies);
}

void Device::activate() const { current_device = handles_.get(); }
std::string Device::gpu_name() const { return "emulated"; }
uint64_t Device::id() const { return handles_->id; }
std::string Device::library_versions() const { return "no CUDA"; }
Stream Device::compute() const { return &handles_->compute; }
Stream Device::copies() const { return &handles_->copies; }
void Device::wait_for_compute() const {
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
  const std::lock_guard lock(pinned_mutex);
  pinned[static_cast<std::byte*>(data_)] = bytes;
}
PinnedBuffer::~PinnedBuffer() {
  const std::lock_guard lock(pinned_mutex);
  pinned.erase(static_cast<std::byte*>(data_));
  ::operator delete(data_);
}

void copy_to_device(void* to, const void* from, size_t bytes, Stream stream) {
  block_unless_pinned(from, stream);
  run_on(stream, [=] { std::memcpy(to, from, bytes); });
}
void copy_from_device(void* to, const void* from, size_t bytes, Stream stream) {
  emulated_machine().bytes_read += bytes;
  block_unless_pinned(to, stream);
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
bool Event::passed() const {
  if (event_->passed != event_->recorded) scheduler().run_one();
  return event_->passed == event_->recorded;
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
