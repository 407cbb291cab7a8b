#include "dataset/parallel/crew.h"

#include <atomic>
#include <utility>

#include "dataset/parallel/market.h"

namespace recordpipe::parallel {
namespace {

std::atomic<bool> uses_plain_threads = false;

std::shared_ptr<Market> market_for([[maybe_unused]] size_t threads, CrewKind kind) {
  if (kind == CrewKind::waits) return make_own_market();
#ifdef RECORDPIPE_TBB
  if (!uses_plain_threads) {
    if (auto market = tbb_market(threads)) return market;
  }
#endif
  return plain_market();
}

}  // namespace

Crew::Crew(size_t threads, CrewKind kind)
    : market_(market_for(threads, kind)), share_(std::make_shared<CrewShare>(threads)) {
  market_->add(share_);
}

Crew::~Crew() { market_->remove(share_); }

void Crew::submit(std::weak_ptr<Work> work) noexcept {
  try {
    market_->submit(*share_, std::move(work), TaskContext::current());
  } catch (...) {
    // No memory: the caller does the work.
  }
}

void use_plain_threads() noexcept { uses_plain_threads = true; }

}  // namespace recordpipe::parallel
