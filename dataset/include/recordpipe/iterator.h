// Iterator: one pass over a Dataset, and its place in it; InputIterator: the same for range-for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "recordpipe/element.h"
#include "recordpipe/ignore_errors.h"
#include "recordpipe/memory_use.h"
#include "recordpipe/options.h"
#include "recordpipe/statistics.h"

namespace recordpipe {

// For Dataset::iterate().
struct IterateOptions {
  // The epoch of the pass (default: the Dataset's, see Dataset::epoch).
  std::optional<uint64_t> epoch = {};
};

namespace internal {

class Node;

// An Iterator without its elements' type.
class AnyIterator {
 public:
  AnyIterator(std::shared_ptr<const Node> node, const PipelineOptions& options, uint64_t epoch);
  ~AnyIterator();
  AnyIterator(AnyIterator&&) noexcept;
  AnyIterator& operator=(AnyIterator&&) noexcept;

  void* next() {
    if (at_ == count_ && !fetch()) return nullptr;
    return values_ + size_ * at_++;
  }
  std::string state() const;
  void restore(std::string_view state);
  uint64_t epoch() const;
  uint64_t position() const;
  SkippedReport skipped() const;
  PipelineStatistics statistics() const;
  MemoryUse memory() const;

 private:
  // Brings the next chunk; false at the end.
  bool fetch();

  struct Pass;
  std::unique_ptr<Pass> pass_;
  std::byte* values_ = nullptr;  // of the chunk at hand
  size_t size_;                  // of an element
  size_t at_ = 0;
  size_t count_ = 0;
};

}  // namespace internal

// One pass over a Dataset. Used by one thread at a time. Keeps the Dataset's description alive.
template <Element T>
class Iterator {
 public:
  explicit Iterator(internal::AnyIterator iterator) : iterator_(std::move(iterator)) {}

  // The next element, valid until the next call (it lies in a slot that is used again: move from it
  // to keep it); null at the end, and ever after. Throws what the pipeline throws.
  T* next() { return static_cast<T*>(iterator_.next()); }

  // Where the iterator stands: after the elements that next() has returned, whatever was planned or
  // prefetched beyond them, and its epoch. A serialized recordpipe.IteratorState
  // (proto/iterator_state.proto), at most 16 KiB and 8 bytes for each element in a shuffle's
  // buffer; beyond that some 10 bytes for each input that an interleave has open, 16 for each file
  // that inputs have opened, and what a scan's state takes. The first call asks for the sizes of
  // files that were not opened yet; no call reads a file. Throws Error{invalid_argument} after an
  // error, which has no place to go on from.
  std::string state() const { return iterator_.state(); }

  // Goes to where `state` was taken, in another run, with other threads, chunk sizes or prefetch
  // depths, and in the state's epoch, whatever epoch this iterator was made with. Throws
  // Error{invalid_argument}, naming the operator or the file, where it was saved from another plan
  // or the sources' files have changed: then the iterator stays where it is. Compared are name and
  // content (a sample of it) of the files that the saving iterator had opened, and name and size of
  // the others; folders and the queries of URLs don't count, so data may be moved and URLs signed
  // again. Where the place can't be reached all the same, it throws what comes in between, and
  // starts its own epoch over: a file that an input of interleave or flat_map has read has changed,
  // say.
  void restore(std::string_view state) { iterator_.restore(state); }

  // The epoch of this pass: of a restored one, that of the state.
  uint64_t epoch() const { return iterator_.epoch(); }

  // How many elements next() has returned, those before the state that was restored included.
  uint64_t position() const { return iterator_.position(); }

  // What ignore_errors has skipped: up to what has been planned ahead, until the end. From any
  // thread.
  SkippedReport skipped() const { return iterator_.skipped(); }

  // Where the time went, up to now. From any thread.
  PipelineStatistics statistics() const { return iterator_.statistics(); }

  // What the pipeline's elements and buffers take. From any thread.
  MemoryUse memory() const { return iterator_.memory(); }

 private:
  internal::AnyIterator iterator_;
};

// Of a range-for over a Dataset. Copies share their pass.
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
