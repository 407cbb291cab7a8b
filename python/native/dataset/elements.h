// Elements by number: dataset[i], wherever all operators have random access.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include <nanobind/nanobind.h>

#include "python/native/dataset/dataset.h"
#include "python/native/iterate/lease.h"
#include "recordpipe/base/internal/fork.h"
#include "recordpipe/pipeline/extension.h"

namespace recordpipe::python {

// Computes on the calling thread, by Plan::tickets_at. Thread-safe: all functions are called with
// the GIL, and release it while they compute. Keeps the files open, for all threads.
class Elements {
 public:
  // Of a pass in `epoch`. Throws nb::type_error, naming the operator without random access.
  Elements(const PythonDataset& dataset, uint64_t epoch);

  uint64_t size();
  // The elements of these numbers, each less than size().
  nb::list get(const std::vector<uint64_t>& numbers);

 private:
  // A stage, and its number of elements.
  struct Opened;
  // What computes elements on one thread at a time.
  struct Worker;

  // Opens the files at the first call.
  std::shared_ptr<Opened> opened();

  extension::NodePtr node_;                           // outlives the stage
  std::function<nb::object(void* element)> convert_;  // makes a Python object; needs the GIL
  const uint64_t epoch_;
  const std::shared_ptr<const ParseSpec> spec_;
  const std::shared_ptr<LeasePool> pool_ = std::make_shared<LeasePool>();
  std::mutex mutex_;
  std::shared_ptr<Opened> opened_;
  // A child opens the files itself. What threads of the parent use is leaked there.
  const internal::AfterFork renewal_{[this] {
    (void)internal::renew(mutex_);
    new std::shared_ptr<Opened>(std::move(opened_));
  }};
};

}  // namespace recordpipe::python
