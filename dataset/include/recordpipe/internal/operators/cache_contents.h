// What cache has computed: the node's, for all its iterators.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "recordpipe/internal/engine/element_bytes.h"
#include "recordpipe/internal/engine/file_fingerprints.h"
#include "recordpipe/internal/engine/stage.h"
#include "recordpipe/internal/operators/keep_alive.h"

namespace recordpipe {

// The files that the input of a cache has opened in one iteration. The cache keeps them open as
// long as it keeps elements that were computed in this iteration, because elements may point into
// them.
struct CacheSource {
  std::shared_ptr<OpenFiles> open_files = std::make_shared<OpenFiles>();
  std::shared_ptr<FileFingerprints> fingerprints = std::make_shared<FileFingerprints>();
};

// The first elements of the input in epoch 0, without gaps, and whether they are all of them.
// Elements are added at the end and neither moved nor changed after that, so pointers to them stay
// valid and are read without a lock. Thread-safe.
template <Element T>
class CacheContents {
 public:
  struct Kept {
    ElementId id;
    T value{};
    std::exception_ptr error;
    uint64_t bytes = 0;  // of all elements up to this one
  };

  explicit CacheContents(uint64_t max_bytes) : max_bytes_(max_bytes) {}

  uint64_t size() const {
    const std::lock_guard lock(mutex_);
    return kept_.size();
  }

  // Calls take(element) for those from element `at` on, as long as it returns true.
  template <class Take>
  void visit(uint64_t at, Take take) const {
    const std::lock_guard lock(mutex_);
    while (at < kept_.size() && take(kept_[at])) ++at;
  }

  // Adds the elements of `chunk`, whose first one is element `first` <= size() of the input, and
  // drops those that are already here. The first element that doesn't fit in max_bytes makes the
  // contents full: then nothing is added any more.
  template <class Chunk>
  void add(uint64_t first, const Chunk& chunk, const CacheSource& source) {
    const std::lock_guard lock(mutex_);
    if (full_) return;
    size_t i = kept_.size() - first;
    if (i < chunk.size()) keep_open(source);
    for (; i < chunk.size(); ++i) {
      Kept kept{chunk.tickets[i].id, std::move(chunk.values[i]), chunk.take_error_at(i)};
      kept.bytes = (kept_.empty() ? 0 : kept_.back().bytes) + sizeof(Kept) + heap_bytes(kept.value);
      if (kept.bytes > max_bytes_) {
        full_ = true;
        return;
      }
      kept_.push_back(std::move(kept));
    }
  }

  bool is_full() const {
    const std::lock_guard lock(mutex_);
    return full_;
  }
  uint64_t max_bytes() const { return max_bytes_; }

  // The input has no more elements.
  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  bool has_ended() const {
    const std::lock_guard lock(mutex_);
    return ended_;
  }

  // Of the files that the elements were computed from.
  const std::shared_ptr<FileFingerprints>& fingerprints() const { return fingerprints_; }

 private:
  void keep_open(const CacheSource& source) {
    if (std::ranges::find(sources_, source.open_files, &CacheSource::open_files) !=
        sources_.end()) {
      return;
    }
    fingerprints_->include(source.fingerprints);
    sources_.push_back(source);
  }

  const uint64_t max_bytes_;
  mutable std::mutex mutex_;
  std::vector<CacheSource> sources_;  // outlive the elements
  const std::shared_ptr<FileFingerprints> fingerprints_ = std::make_shared<FileFingerprints>();
  std::deque<Kept> kept_;
  bool ended_ = false;
  bool full_ = false;
};

}  // namespace recordpipe
