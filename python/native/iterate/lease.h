// Lends batches to Python without copying them.
//
// The arrays of a batch point into its columns. While one of them lives, the memory belongs to
// Python: it is not overwritten, and the consumer may write to it. The last array to die returns
// the memory to the pool, from which the pipeline gets memory in exchange for its next batch. A
// consumer that keeps batches gets new memory for each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

#include "python/native/dataset/parse_spec.h"
#include "python/native/dataset/parsed_batch.h"
#include "recordpipe/base/internal/fork.h"

namespace recordpipe::python {

namespace nb = nanobind;

// Thread-safe, and usable in a child made by fork(): batches that were lent before are copies of
// the parent's.
class LeasePool {
 public:
  struct Counts {
    uint64_t batches = 0;    // lent so far
    uint64_t allocated = 0;  // of these, with new memory
    uint64_t lent = 0;       // that Python holds now
  };

  // Returns a batch whose memory was returned, or an empty one.
  std::unique_ptr<ParsedBatch> take();
  // Swaps `batch` for one of take().
  // `with_presence`: validity() of its columns can still be called.
  std::unique_ptr<ParsedBatch> lend(ParsedBatch& batch, bool with_presence = false);
  // The same for a batch of images, which becomes the only image of a ParsedBatch.
  std::unique_ptr<ParsedBatch> lend(ImageBatch& batch, bool with_presence = false);
  void give_back(std::unique_ptr<ParsedBatch> batch) noexcept;
  // Frees the memory that was returned, and that will be: the pipeline has ended.
  void close() noexcept;
  Counts counts() const;

 private:
  mutable std::mutex mutex_;
  // Enough for the batches that a training step and its transfer to a device hold at a time. An
  // array, because give_back() can't fail.
  static constexpr size_t kMaxSpare = 8;
  std::array<std::unique_ptr<ParsedBatch>, kMaxSpare> spare_;
  size_t spares_ = 0;
  bool is_closed_ = false;
  Counts counts_;
  const internal::AfterFork renewal_{[this] {
    if (internal::renew(mutex_)) return;
    internal::renew_without_destruction(spare_);
    spares_ = 0;
  }};
};

// A batch that goes back to its pool when the lease dies: on any thread, without the GIL, and also
// in a child made by fork().
class Lease {
 public:
  Lease(std::shared_ptr<LeasePool> pool, std::unique_ptr<ParsedBatch> batch)
      : pool_(std::move(pool)), batch_(std::move(batch)) {}
  ~Lease() { pool_->give_back(std::move(batch_)); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  const ParsedBatch& batch() const { return *batch_; }

 private:
  const std::shared_ptr<LeasePool> pool_;
  std::unique_ptr<ParsedBatch> batch_;
};

// Returns an object that gives `lent` back when it dies: the owner of arrays that point into it.
// Needs the GIL.
nb::object make_owner(std::unique_ptr<ParsedBatch> lent, const std::shared_ptr<LeasePool>& pool);

// Returns a dict of arrays that point into `lent`, which has its presence if spec.has_masks(); for
// SequenceExamples, a tuple of the dicts of the context and of the feature lists. The last array to
// die gives `lent` back. Needs the GIL. `single`: the batch has one row; returns its values without
// the batch dimension.
nb::object to_python(std::unique_ptr<ParsedBatch> lent, const std::shared_ptr<LeasePool>& pool,
                     const ParseSpec& spec, bool single);

// The same for a batch of the pool, with so many rows, which set(batch) fills without the GIL.
// Needs the GIL.
nb::object parsed_rows(const std::shared_ptr<LeasePool>& pool, const ParseSpec& spec, size_t rows,
                       bool single, const std::function<void(ParsedBatch&)>& set);

}  // namespace recordpipe::python
