// Plain threads: the twin of oneTBB's, and the threads of crews that wait.
#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "dataset/base/available_cpus.h"
#include "dataset/base/per_process.h"
#include "dataset/parallel/market.h"
#include "recordpipe/base/internal/fork_block.h"

namespace recordpipe::parallel {
namespace {

// Its threads own it, too.
class PlainMarket final : public Market {
 public:
  // The threads at work are as many as `least`, or as the largest crew. With 0, the market of a
  // single crew: its threads end when there is no work.
  explicit PlainMarket(size_t least) : least_(least) {}

 protected:
  void resize() override {
    if (!has_crews()) changed_.notify_all();  // its threads end
  }

  size_t max_threads() const override { return std::max(least_, largest_crew()); }

  bool call_thread() override {
    if (idle_ == calls_ && !start_thread()) return false;
    ++calls_;
    changed_.notify_one();
    return true;
  }

 private:
  bool start_thread() {
    try {
      const internal::ForkBlock no_fork;
      std::thread([this, self = shared_from_this()] { run(); }).detach();
      ++idle_;  // it is starting
      return true;
    } catch (const std::system_error&) {
      return false;  // the existing threads, and those that use the crews, do the work
    }
  }

  void run() {
    Lock lock(mutex_);
    while (true) {
      // A call that has come is answered, whichever crews there are.
      changed_.wait(lock, [this] { return calls_ > 0 || !has_crews() || least_ == 0; });
      --idle_;
      if (calls_ == 0) return;
      --calls_;
      run_all(lock);
      ++idle_;
    }
  }

  const size_t least_;
  std::condition_variable changed_;
  size_t idle_ = 0;   // threads that wait for a call, or will at once
  size_t calls_ = 0;  // that no thread has answered yet
};

internal::PerProcess<std::shared_ptr<Market>>& process_market() {
  // Never destroyed: threads may use it when the process ends.
  static auto& market = *new internal::PerProcess<std::shared_ptr<Market>>;
  return market;
}

// Before main(), or when the library is loaded: fork() must not happen while it is made.
[[maybe_unused]] const auto& process_market_made = process_market();

}  // namespace

std::shared_ptr<Market> plain_market() {
  return process_market().get(
      [] { return std::make_shared<PlainMarket>(std::max<size_t>(1, available_cpus() - 1)); });
}

std::shared_ptr<Market> make_own_market() { return std::make_shared<PlainMarket>(0); }

}  // namespace recordpipe::parallel
