// A mutex that knows its owner.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>

namespace recordpipe::python {

// A std::mutex; a thread that holds it can find out, where locking it again would wait for ever.
class OwnedMutex {
 public:
  void lock() {
    mutex_.lock();
    owner_ = std::this_thread::get_id();
  }
  bool try_lock() {
    if (!mutex_.try_lock()) return false;
    owner_ = std::this_thread::get_id();
    return true;
  }
  void unlock() {
    owner_ = std::thread::id();
    mutex_.unlock();
  }
  bool is_mine() const { return owner_ == std::this_thread::get_id(); }

 private:
  std::mutex mutex_;
  std::atomic<std::thread::id> owner_;
};

}  // namespace recordpipe::python
