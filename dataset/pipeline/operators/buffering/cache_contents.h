// Keeps the elements that cache has computed. Owned by the node, for all its iterators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "dataset/pipeline/execute/chunk_reader.h"
#include "dataset/pipeline/execute/element_buffer.h"
#include "dataset/pipeline/plan/open_files.h"
#include "dataset/pipeline/state/file_fingerprints.h"
#include "recordpipe/base/internal/fork.h"
#include "recordpipe/pipeline/internal/ticket.h"

namespace recordpipe::internal {

// The files that the input of a cache has opened in one iteration. The cache keeps the files open
// as long as it keeps elements computed in this iteration, because elements may point into them.
struct CacheSource {
  std::shared_ptr<OpenFiles> open_files;
  std::shared_ptr<FileFingerprints> fingerprints;
};

// Keeps the first elements of the input in epoch 0, without gaps, and notes whether they are all.
// Elements are only appended, never moved or changed, so pointers to them stay valid, and elements
// are read without a lock. Thread-safe. In a child made by fork(), the elements are still there,
// unless a thread was adding some at the time: then there are none.
class CacheContents {
 public:
  struct Kept {
    ElementId id;
    void* value = nullptr;
    std::exception_ptr error;
    uint64_t bytes = 0;  // of all elements up to this one
  };

  CacheContents(const ElementOps& ops, uint64_t max_bytes) : ops_(ops), max_bytes_(max_bytes) {}

  uint64_t size() const;
  // Calls take(element) for the elements from `at` on, as long as take() returns true.
  template <class Take>
  void visit(uint64_t at, Take take) const {
    const std::lock_guard lock(mutex_);
    while (at < size_ && take(blocks_[at / kBlock].kept[at % kBlock])) ++at;
  }

  // Adds the elements that `reader` has at hand, except those added before, and moves the reader
  // past them. The first element that exceeds max_bytes makes the contents full: from then on,
  // nothing is added. Throws the first Error{cancelled} of an element, which is not kept.
  void add(ChunkReader& reader, const CacheSource& source);
  bool is_full() const;
  uint64_t max_bytes() const { return max_bytes_; }

  // Called when the input has no more elements.
  void end();
  bool has_ended() const;

  // The files that the elements were computed from.
  const std::shared_ptr<FileFingerprints>& fingerprints() const { return fingerprints_; }

 private:
  void keep_open(const CacheSource& source);
  void after_fork();

  static constexpr size_t kBlock = 64;
  // kBlock contiguous elements: a pass reads them in order.
  struct Block {
    explicit Block(const ElementOps& ops) : values(ops, kBlock), kept(kBlock) {}
    ElementBuffer values;
    std::vector<Kept> kept;
  };

  const ElementOps& ops_;
  const uint64_t max_bytes_;
  mutable std::mutex mutex_;
  std::vector<CacheSource> sources_;  // outlive the elements
  const std::shared_ptr<FileFingerprints> fingerprints_ = std::make_shared<FileFingerprints>();
  std::vector<Block> blocks_;
  uint64_t size_ = 0;
  uint64_t bytes_ = 0;
  bool ended_ = false;
  bool full_ = false;
  const AfterFork renewal_{[this] { after_fork(); }};
};

}  // namespace recordpipe::internal
