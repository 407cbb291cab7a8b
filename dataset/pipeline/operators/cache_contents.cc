#include "dataset/pipeline/operators/cache_contents.h"

#include <algorithm>
#include <utility>

namespace recordpipe::internal {

uint64_t CacheContents::size() const {
  const std::lock_guard lock(mutex_);
  return kept_.size();
}

void CacheContents::add(ChunkReader& reader, const CacheSource& source) {
  const std::lock_guard lock(mutex_);
  for (; reader.is_at_hand() && !full_; reader.pass()) {
    if (reader.position() < kept_.size()) continue;
    keep_open(source);
    Kept kept{reader.id(), next_slot(), reader.take_error()};
    ops_.swap(kept.value, reader.value());
    kept.bytes = (kept_.empty() ? 0 : kept_.back().bytes) + sizeof(Kept) +
                 element_bytes(kept.value, ops_, 1);
    full_ = kept.bytes > max_bytes_;
    if (!full_) kept_.push_back(std::move(kept));
  }
  while (reader.is_at_hand()) reader.pass();
}

bool CacheContents::is_full() const {
  const std::lock_guard lock(mutex_);
  return full_;
}

void CacheContents::end() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
}

bool CacheContents::has_ended() const {
  const std::lock_guard lock(mutex_);
  return ended_;
}

void CacheContents::keep_open(const CacheSource& source) {
  const auto same = std::ranges::find(sources_, source.open_files, &CacheSource::open_files);
  if (same != sources_.end()) return;
  fingerprints_->include(source.fingerprints);
  sources_.push_back(source);
}

// For the element that comes next.
void* CacheContents::next_slot() {
  const size_t at = kept_.size() % kBlock;
  if (at == 0) blocks_.emplace_back(ops_, kBlock);
  return blocks_.back().at(at);
}

}  // namespace recordpipe::internal
