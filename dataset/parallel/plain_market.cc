// Plain threads: the twin of oneTBB's, and the threads of crews that wait.
#include <condition_variable>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "dataset/parallel/market.h"
#include "recordpipe/internal/fork.h"
#include "recordpipe/internal/fork_block.h"

namespace recordpipe::parallel {
namespace {

// Its threads own it, too.
class PlainMarket final : public Market {
 public:
  // `own`: the market of a single crew, which has as many threads as the crew, and none while there
  // is no work.
  explicit PlainMarket(bool own) : is_own_(own) {}

 protected:
  void resize() override { changed_.notify_all(); }

  void call_thread() override {
    if (idle_ < queued() && threads_ < most_threads()) start_thread();
    changed_.notify_one();
  }

 private:
  void start_thread() {
    try {
      const internal::ForkBlock no_fork;
      std::thread([this, self = shared_from_this()] { run(); }).detach();
      ++threads_;
    } catch (const std::system_error&) {
      // The existing threads, and those that use the crews, do the work.
    }
  }

  void run() {
    Lock lock(mutex_);
    while (true) {
      run_all(lock);
      if (is_own_ || threads_ > most_threads()) break;
      ++idle_;
      changed_.wait(lock);
      --idle_;
    }
    --threads_;
  }

  const bool is_own_;
  std::condition_variable changed_;
  size_t threads_ = 0;
  size_t idle_ = 0;
};

// The market of the process. A child made by fork(), which has none of its threads, gets a new one.
class ProcessMarket {
 public:
  std::shared_ptr<Market> get() {
    const std::lock_guard lock(mutex_);
    return market_;
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<Market> market_ = std::make_shared<PlainMarket>(/*own=*/false);
  const internal::AfterFork renewal_{[this] {
    internal::renew(mutex_);
    internal::renew_without_destruction(market_);
    market_ = std::make_shared<PlainMarket>(/*own=*/false);
  }};
};

}  // namespace

std::shared_ptr<Market> plain_market() {
  // Never destroyed: threads may use it when the process ends.
  static ProcessMarket& market = *new ProcessMarket;
  return market.get();
}

std::shared_ptr<Market> make_own_market() { return std::make_shared<PlainMarket>(/*own=*/true); }

}  // namespace recordpipe::parallel
