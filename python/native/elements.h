// Elements by number: dataset[i], wherever all operators have random access.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include <nanobind/nanobind.h>

#include "python/native/dataset.h"
#include "python/native/lease.h"
#include "recordpipe/internal/fork.h"

namespace recordpipe::python {

// Computes on the calling thread, by Plan::tickets_at. Thread-safe: all functions are called with
// the GIL, and release it while they compute. Keeps the files open.
class Elements {
 public:
  // Of a pass in `epoch`. Throws nb::type_error, naming the operator without random access.
  Elements(const PythonDataset& dataset, uint64_t epoch);
  ~Elements();

  uint64_t size();
  // The elements of these numbers, each less than size().
  nb::list get(const std::vector<uint64_t>& numbers);

 private:
  struct Reader;
  // What `elements` are made of, and what makes a Python object of one. Needs the GIL.
  using Convert = std::function<nb::object(void* element)>;

  std::unique_ptr<Reader> take_reader();
  void give_back(std::unique_ptr<Reader> reader);
  nb::object parsed(const std::function<void(ParsedBatch&)>& set);
  // The child makes readers of its own.
  void forget_readers();

  internal::NodePtr node_;  // outlives the readers
  Convert convert_;
  const uint64_t epoch_;
  const std::shared_ptr<const ParseSpec> spec_;
  const std::shared_ptr<LeasePool> pool_ = std::make_shared<LeasePool>();
  std::mutex mutex_;
  std::vector<std::unique_ptr<Reader>> spare_;
  const internal::AfterFork renewal_{[this] { forget_readers(); }};
};

}  // namespace recordpipe::python
