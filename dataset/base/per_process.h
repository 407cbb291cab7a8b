// An object that the threads of a process share, and that a child made by fork() makes anew.
#pragma once

#include <memory>
#include <mutex>

#include "recordpipe/base/internal/fork.h"

namespace recordpipe::internal {

// `Pointer`: a shared_ptr keeps the object; with a weak_ptr, it lives as long as something uses it.
template <class Pointer>
class PerProcess {
 public:
  // Returns the object; makes it, by `make`, if there is none.
  auto get(const auto& make) {
    const std::lock_guard lock(mutex_);
    auto object = std::weak_ptr(pointer_).lock();
    if (!object) pointer_ = object = make();
    return object;
  }

 private:
  std::mutex mutex_;
  Pointer pointer_;
  const AfterFork renewal_{[this] {  // the object's threads and connections are the parent's
    renew(mutex_);
    renew_without_destruction(pointer_);
  }};
};

}  // namespace recordpipe::internal
