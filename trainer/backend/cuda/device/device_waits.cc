// How the host waits for a GPU.
#include <exception>
#include <memory>
#include <thread>
#include <utility>

#include "trainer/backend/cuda/device/device.h"

namespace recordpipe::cuda {

void Device::set_watch(std::function<void()> watch) {
  if (watch && !computed_) {
    activate();
    computed_ = std::make_unique<Event>();
  }
  watch_ = std::move(watch);
}

void Device::wait(const Event& event) const {
  if (!watch_) return event.wait();
  for (; !event.passed(); std::this_thread::yield()) watch_();
}

void Device::finish() const noexcept {
  try {
    activate();
    synchronize();
    return;
  } catch (const std::exception&) {  // of the watch, which has ended the work that can't end
  }
  try {
    wait_for_compute();
  } catch (const std::exception&) {  // the GPU has failed: no work is running
  }
}

void Device::synchronize() const {
  if (!watch_) return wait_for_compute();
  computed_->record(compute());
  wait(*computed_);
}

// With host memory that isn't pinned, the driver may block until the work before the copy is done,
// where nothing can end the wait.
void Device::read(void* to, const void* from, size_t bytes) const {
  if (watch_) synchronize();
  copy_from_device(to, from, bytes, compute());
  synchronize();
}

void Device::write(void* to, const void* from, size_t bytes) const {
  if (watch_) synchronize();
  copy_to_device(to, from, bytes, compute());
  synchronize();
}

}  // namespace recordpipe::cuda
