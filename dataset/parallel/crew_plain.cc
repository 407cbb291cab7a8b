// Plain threads that take work from a queue: the twin of oneTBB's, and the threads of crews that
// wait.
#include <algorithm>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "dataset/parallel/crew_threads.h"
#include "recordpipe/internal/fork.h"
#include "recordpipe/internal/fork_block.h"

namespace recordpipe::parallel {
namespace {

// A crew's share of a market.
struct Share {
  const size_t most;   // threads at a time
  size_t waiting = 0;  // work in the queue
  size_t running = 0;  // threads

  bool has_room() const { return running < most; }
};

// Threads, and the queue of work for them. Its threads own it, too, and end when it has no crews.
class PlainMarket : public std::enable_shared_from_this<PlainMarket> {
 public:
  // `own`: the market of a single crew, which has as many threads as the crew. They end when the
  // queue is empty.
  explicit PlainMarket(bool own) : is_own_(own) {}

  void add(size_t threads) {
    const std::lock_guard lock(mutex_);
    size_.add(threads);
  }

  void remove(const Share& share) {
    const std::lock_guard lock(mutex_);
    size_.remove(share.most);
    std::erase_if(queue_, [&](const Item& item) { return item.share.get() == &share; });
    changed_.notify_all();
  }

  void submit(std::shared_ptr<Share> share, std::weak_ptr<Work> work, TaskContext context) {
    const std::lock_guard lock(mutex_);
    Share& its = *share;
    queue_.push_back({std::move(share), std::move(work), std::move(context)});
    ++its.waiting;
    const bool is_useful = its.running + its.waiting <= its.most && idle_ < queue_.size();
    if (is_useful && threads_ < most_threads(its)) start_thread();
    changed_.notify_one();
  }

 private:
  struct Item {
    std::shared_ptr<Share> share;
    std::weak_ptr<Work> work;
    TaskContext context;
  };

  size_t most_threads(const Share& share) const { return is_own_ ? share.most : size_.threads(); }

  void start_thread() {
    try {
      const internal::ForkBlock no_fork;
      std::thread([market = shared_from_this()] { market->run(); }).detach();
      ++threads_;
    } catch (const std::system_error&) {
      // The existing threads, and those that use the crews, do the work.
    }
  }

  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      const auto next =
          std::ranges::find_if(queue_, [](const Item& item) { return item.share->has_room(); });
      if (next != queue_.end()) {
        Item item = std::move(*next);
        queue_.erase(next);
        --item.share->waiting;
        ++item.share->running;
        lock.unlock();
        run_in_context(std::move(item.work), std::move(item.context));
        lock.lock();
        --item.share->running;
      } else if (is_own_ || !size_.has_crews() || threads_ > size_.threads()) {
        --threads_;
        return;
      } else {
        ++idle_;
        changed_.wait(lock);
        --idle_;
      }
    }
  }

  const bool is_own_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> queue_;
  MarketSize size_;
  size_t threads_ = 0;
  size_t idle_ = 0;
};

// The market of the process. A child made by fork(), which has none of its threads, gets a new one.
class ProcessMarket {
 public:
  std::shared_ptr<PlainMarket> get() {
    const std::lock_guard lock(mutex_);
    return market_;
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<PlainMarket> market_ = std::make_shared<PlainMarket>(/*own=*/false);
  const internal::AfterFork renewal_{[this] {
    internal::renew(mutex_);
    internal::renew_without_destruction(market_);
    market_ = std::make_shared<PlainMarket>(/*own=*/false);
  }};
};

std::shared_ptr<PlainMarket> process_market() {
  // Never destroyed: threads may use it when the process ends.
  static ProcessMarket& market = *new ProcessMarket;
  return market.get();
}

class PlainThreads final : public CrewThreads {
 public:
  PlainThreads(size_t threads, std::shared_ptr<PlainMarket> market)
      : market_(std::move(market)), share_(new Share{threads}) {
    market_->add(threads);
  }
  ~PlainThreads() override { market_->remove(*share_); }

  void submit(std::weak_ptr<Work> work, TaskContext context) override {
    market_->submit(share_, std::move(work), std::move(context));
  }

 private:
  const std::shared_ptr<PlainMarket> market_;
  const std::shared_ptr<Share> share_;
};

}  // namespace

std::unique_ptr<CrewThreads> make_plain_threads(size_t threads, CrewKind kind) {
  return std::make_unique<PlainThreads>(threads, kind == CrewKind::waits
                                                     ? std::make_shared<PlainMarket>(/*own=*/true)
                                                     : process_market());
}

}  // namespace recordpipe::parallel
