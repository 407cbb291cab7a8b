#include "dataset/pipeline/execute/chunk_reader.h"

namespace recordpipe::internal {

bool ChunkReader::fetch() {
  if (is_at_hand()) return true;
  forget();  // first: the executor may throw
  chunk_ = executor_.next_with_failures();
  if (!keeps_places_) executor_.release(executor_.position());
  return !chunk_.empty();
}

Failures ChunkReader::take_failures(size_t count) const {
  Failures taken;
  for (Failure& failure : failures()) {
    if (failure.at >= at_ + count) break;
    taken.push_back({failure.at - at_, std::move(failure.error)});
  }
  return taken;
}

void ChunkReader::restart(Epoch epoch) {
  forget();
  executor_.restart(epoch);
}

void ChunkReader::restore(const PlanState& state, Epoch epoch) {
  forget();
  executor_.restore(state, epoch);
}

Stop ChunkReader::advance(uint64_t count, uint64_t& passed) {
  return executor_.advance(count, passed);
}

void ChunkReader::forget() {
  chunk_ = {};
  at_ = next_failure_ = 0;
}

}  // namespace recordpipe::internal
