#include "dataset/pipeline/operators/buffering/cache_contents.h"

#include <algorithm>
#include <utility>

#include "recordpipe/base/error.h"

namespace recordpipe::internal {
namespace {

// Throws the error of an element that was not computed because the pass was stopped.
void throw_if_cancelled(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& cause) {
    if (cause.kind() == ErrorKind::cancelled) throw;
  } catch (...) {
  }
}

}  // namespace

uint64_t CacheContents::size() const {
  const std::lock_guard lock(mutex_);
  return size_;
}

void CacheContents::add(ChunkReader& reader, const CacheSource& source) {
  const std::lock_guard lock(mutex_);
  for (; reader.is_at_hand() && !full_; reader.pass()) {
    if (reader.position() < size_) continue;
    std::exception_ptr error = reader.take_error();
    if (error) throw_if_cancelled(error);
    keep_open(source);
    const size_t at = size_ % kBlock;
    if (at == 0 && size_ / kBlock == blocks_.size()) blocks_.emplace_back(ops_);
    Block& block = blocks_.back();
    void* const value = block.values.at(at);
    move_element(ops_, reader.value(), value);
    bytes_ += sizeof(Kept) + element_bytes(value, ops_, 1);
    full_ = bytes_ > max_bytes_;
    if (full_) break;
    block.kept[at] = {reader.id(), value, std::move(error), bytes_};
    ++size_;
  }
  reader.pass(reader.count_at_hand());
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

void CacheContents::after_fork() {
  if (renew(mutex_)) return;
  renew_without_destruction(sources_);
  renew_without_destruction(blocks_);
  size_ = bytes_ = 0;
  ended_ = full_ = false;
}

void CacheContents::keep_open(const CacheSource& source) {
  const auto same = std::ranges::find(sources_, source.open_files, &CacheSource::open_files);
  if (same != sources_.end()) return;
  fingerprints_->include(source.fingerprints);
  sources_.push_back(source);
}

}  // namespace recordpipe::internal
