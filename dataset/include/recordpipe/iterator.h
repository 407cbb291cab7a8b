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

#include "recordpipe/error.h"
#include "recordpipe/internal/engine/executor.h"
#include "recordpipe/internal/engine/iterator_state.h"
#include "recordpipe/internal/engine/memory_account.h"
#include "recordpipe/internal/engine/node.h"
#include "recordpipe/internal/engine/skip_log.h"
#include "recordpipe/internal/engine/stage_context.h"
#include "recordpipe/internal/engine/stage_monitor.h"
#include "recordpipe/statistics.h"

namespace recordpipe {

// For Dataset::iterate().
struct IterateOptions {
  // The epoch of the pass (default: the Dataset's, see Dataset::epoch).
  std::optional<uint64_t> epoch = {};
};

// One pass over a Dataset. Used by one thread at a time. Keeps the Dataset's description alive.
template <Element T>
class Iterator {
 public:
  Iterator(std::shared_ptr<const Node<T>> node, const StageContext& context, uint64_t epoch)
      : pass_(std::make_unique<Pass>(std::move(node), context)), epoch_(epoch) {
    pass_->executor.restart(epoch);
  }

  // The next element, valid until the next call (it lies in a slot that is used again: move from it
  // to keep it); null at the end, and ever after. Throws what the pipeline throws.
  T* next() {
    if (at_ == count_) {
      at_ = count_ = 0;  // first: next() may throw
      Executor<T>& executor = pass_->executor;
      pass_->context.monitor->asked();
      failed_ = true;
      chunk_ = executor.next();
      failed_ = false;
      executor.release(executor.position());
      count_ = chunk_.values.size();
      pass_->context.monitor->answered(count_);
      if (count_ == 0) return nullptr;
    }
    return &chunk_.values[at_++];
  }

  // Where the iterator stands: after the elements that next() has returned, whatever was planned or
  // prefetched beyond them. A serialized recordpipe.IteratorState (proto/iterator_state.proto), at
  // most 16 KiB and 8 bytes for each element in a shuffle's buffer; beyond that some 10 bytes for
  // each input that an interleave has open, 16 for each file that inputs have opened, and what a
  // scan's state takes. The first call asks for the sizes of files that were not opened yet; no
  // call reads a file. Throws
  // Error{invalid_argument} after an error, which has no place to go on from.
  std::string state() const {
    if (failed_) {
      throw Error({.kind = ErrorKind::invalid_argument,
                   .reason = "an iterator that has ended with an error has no state to save",
                   .hint = "go on from a state saved before, or leave bad elements out by "
                           "ignore_errors"});
    }
    IteratorPlace place{.position = position(), .epoch = epoch_};
    pass_->executor.save(pass_->executor.position() + at_, place.plan);
    return save_iterator_state(pass_->node->describe(), place, *pass_->context.files);
  }

  // Goes to where `state` was taken, in another run, with other threads, chunk sizes or prefetch
  // depths, and in the state's epoch, whatever epoch this iterator was made with. Throws
  // Error{invalid_argument}, naming the operator or the file, where it was saved from another plan
  // or the sources' files have changed (iterator_state.h says what is compared): then the iterator
  // stays where it is. Where the place can't be reached all the same, it throws what comes in
  // between, and starts its own epoch over: a file that an input of interleave or flat_map has read
  // has changed, say.
  void restore(std::string_view state) {
    const IteratorPlace place =
        load_iterator_state(pass_->node->describe(), state, *pass_->context.files);
    at_ = count_ = 0;
    failed_ = false;
    try {
      restore_place(pass_->executor, place.plan, place.epoch);
      require_input_files(*pass_->context.files);
    } catch (...) {
      pass_->executor.restart(epoch_);
      earlier_ = 0;
      throw;
    }
    epoch_ = place.epoch;
    earlier_ = place.position - pass_->executor.position();
  }

  // The epoch of this pass: of a restored one, that of the state.
  uint64_t epoch() const { return epoch_; }

  // What ignore_errors has skipped: up to what has been planned ahead, until the end. From any
  // thread.
  SkippedReport skipped() const { return pass_->context.skipped->report(); }

  // Where the time went, up to now. From any thread.
  PipelineStatistics statistics() const { return pass_->context.monitor->statistics(); }

  // What the pipeline's elements and buffers take. From any thread.
  MemoryUse memory() const { return pass_->context.memory->use(); }

  // How many elements next() has returned, those before the state that was restored included.
  uint64_t position() const { return earlier_ + pass_->executor.position() + at_; }

 private:
  // What the stages use of the node must outlive them, when an iterator is assigned to as well.
  struct Pass {
    Pass(std::shared_ptr<const Node<T>> n, const StageContext& c)
        : node(std::move(n)), context(c), executor(node->make_stage(context), context) {}
    std::shared_ptr<const Node<T>> node;
    StageContext context;
    Executor<T> executor;
  };

  std::unique_ptr<Pass> pass_;
  typename Executor<T>::Chunk chunk_;
  size_t at_ = 0;
  size_t count_ = 0;
  uint64_t epoch_;
  uint64_t earlier_ = 0;  // elements that the executor has not counted
  bool failed_ = false;   // next() has thrown
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
