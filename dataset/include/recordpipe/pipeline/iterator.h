// Iterator: one pass over a Dataset, with a position that can be saved. InputIterator: an adapter
// for range-for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "recordpipe/base/internal/fork.h"
#include "recordpipe/pipeline/element.h"
#include "recordpipe/pipeline/ignore_errors.h"
#include "recordpipe/pipeline/memory_use.h"
#include "recordpipe/pipeline/options.h"
#include "recordpipe/pipeline/statistics.h"

namespace recordpipe {

// Parameters of Dataset::iterate().
struct IterateOptions {
  // The epoch of the pass (default: the Dataset's, see Dataset::epoch).
  std::optional<uint64_t> epoch = {};
};

namespace internal {

class Node;

// Type-erased implementation of Iterator.
class AnyIterator {
 public:
  AnyIterator(std::shared_ptr<const Node> node, const PipelineOptions& options, uint64_t epoch);
  ~AnyIterator();
  AnyIterator(AnyIterator&&) noexcept;
  AnyIterator& operator=(AnyIterator&&) noexcept;

  void* next() {
    if (at_ == count_ && !fetch()) return nullptr;
    can_unread_ = true;
    return values_ + size_ * at_++;
  }
  size_t ready() const { return count_ - at_; }
  void unread();
  std::string state() const;
  void restore(std::string_view state);
  std::string with_own_code(std::string_view state) const;
  void request_stop();
  uint64_t epoch() const;
  uint64_t position() const;
  uint64_t workers() const;
  SkippedReport skipped() const;
  PipelineStatistics statistics() const;
  MemoryUse memory() const;

 private:
  // Fetches the next chunk. Returns false at the end.
  bool fetch();

  struct Pass;
  // Throws Error{invalid_argument} in a child made by fork().
  Pass& pass() const;

  std::unique_ptr<Pass, DeleteUnlessForked> pass_;
  std::byte* values_ = nullptr;  // of the current chunk
  size_t size_;                  // of an element
  size_t at_ = 0;
  size_t count_ = 0;
  bool can_unread_ = false;
};

}  // namespace internal

// One pass over a Dataset. Not thread-safe, except where stated. Shares ownership of the Dataset's
// plan nodes.
//
// fork(): the parent's iterators go on. In the child, which has none of their threads, a Dataset
// may be iterated anew, also one that the parent iterates at the time; next() of an inherited
// iterator returns the elements that are ready(), then throws Error{invalid_argument}, as all its
// other functions do. Destroying it does nothing: memory and files stay the parent's.
template <Element T>
class Iterator {
 public:
  explicit Iterator(internal::AnyIterator iterator) : iterator_(std::move(iterator)) {}

  // Returns the next element; null at the end and on every later call. The element is valid until
  // the next call, because its memory is reused; move from it to keep it. Throws the pipeline's
  // errors.
  T* next() { return static_cast<T*>(iterator_.next()); }

  // The number of elements that the next calls of next() return without computing or waiting.
  size_t ready() const { return iterator_.ready(); }

  // Takes back the last call of next(), which has returned an element: the next call returns the
  // same element, as the caller has left it. Throws Error{invalid_argument} if the last call
  // returned none, and if this function was called since.
  void unread() { iterator_.unread(); }

  // Saves the iterator's position and epoch. The position is after the last element that next()
  // returned, regardless of planned or prefetched elements. Format: a serialised
  // recordpipe.IteratorState (proto/iterator_state.proto). Maximum size: 16 KiB, plus 8 bytes for
  // each element in a shuffle's buffer, about 10 bytes for each open input of an interleave, 16
  // bytes for each file that inputs have opened, and a scan's state. The first call queries the
  // sizes of files that have not been opened yet; no call reads a file. Throws
  // Error{invalid_argument} after an error, because there is no position to resume from.
  std::string state() const { return iterator_.state(); }

  // Resumes at the position and epoch of `state`, regardless of this iterator's epoch. `state` may
  // come from another process, with other thread counts, chunk sizes or prefetch depths.
  //
  // Throws Error{invalid_argument}, naming the operator or the file, if the state was saved from
  // another plan or if the source files have changed; the iterator then keeps its position. Files
  // that the saving iterator had opened are compared by name and content (a sample of it), all
  // other files by name and size. The comparison ignores directories and query strings of URLs, so
  // data may be moved and URLs may be signed again.
  //
  // If the position can't be reached for another reason (for example, a file read by an input of
  // interleave or flat_map has changed, or a generator yields fewer elements), throws the error
  // that occurred on the way to the position, and goes back to where the iterator was; if that
  // can't be reached any more, it starts its own epoch again. So it does if request_stop() ends the
  // wait, which may be long if elements must be computed again: Error{cancelled}.
  void restore(std::string_view state) { iterator_.restore(state); }

  // Returns `state` as if it had been saved with this iterator's functions: restore() accepts the
  // result although their code (Parameter::Kind::code) has changed. Throws like restore() if it is
  // not a state; returns the state of another plan unchanged.
  std::string with_own_code(std::string_view state) const { return iterator_.with_own_code(state); }

  // Makes the running call of next(), and each later call, return soon and throw Error{cancelled};
  // a read that waits for data is not interrupted. The position stays after the last element that
  // next() returned: restore(state()) goes on from there. May be called by any thread while the
  // iterator exists and is not moved.
  void request_stop() { iterator_.request_stop(); }

  // The epoch of this pass; after restore(), the epoch of the state.
  uint64_t epoch() const { return iterator_.epoch(); }

  // Number of elements that next() has returned, including those before a restored state; behind a
  // shard that comes last, this worker's share of those (rounded down).
  uint64_t position() const { return iterator_.position(); }

  // Number of workers that share the elements by shards that come last; 1 without such a shard. A
  // state counts the elements of all of them.
  uint64_t workers() const { return iterator_.workers(); }

  // Reports the elements skipped by ignore_errors, including those in chunks planned ahead.
  // Thread-safe.
  SkippedReport skipped() const { return iterator_.skipped(); }

  // Returns the statistics of the pass so far. Thread-safe.
  PipelineStatistics statistics() const { return iterator_.statistics(); }

  // Returns the memory used by the pipeline's elements and buffers. Thread-safe.
  MemoryUse memory() const { return iterator_.memory(); }

 private:
  internal::AnyIterator iterator_;
};

// Returns the state that an iterator has after it skipped `count` elements from `state`. An
// iterator without shard at the end accepts it, also if `state` was saved behind one; the elements
// are then those of all workers. Throws Error{invalid_argument} if `state` is not a state.
std::string moved_state(std::string_view state, uint64_t count);

// Returns the state at the start of the epoch after that of `state`. Throws like moved_state().
std::string next_epoch_state(std::string_view state);

// Returns the number of elements before `state`; after a shard that comes last, of all workers, in
// whole groups. Throws like moved_state().
uint64_t position_of_state(std::string_view state);

// Input iterator for range-for over a Dataset. Copies share one pass.
template <Element T>
class InputIterator {
 public:
  using value_type = T;
  using difference_type = std::ptrdiff_t;

  explicit InputIterator(Iterator<T> pass)
      : pass_(std::make_shared<Iterator<T>>(std::move(pass))), element_(pass_->next()) {}
  T& operator*() const { return *element_; }
  T* operator->() const { return element_; }
  InputIterator& operator++() {
    element_ = pass_->next();
    return *this;
  }
  void operator++(int) { ++*this; }
  bool operator==(std::default_sentinel_t) const { return element_ == nullptr; }

 private:
  std::shared_ptr<Iterator<T>> pass_;
  T* element_;
};

}  // namespace recordpipe
