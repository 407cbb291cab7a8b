#include "recordpipe/parallel_deflate.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dataset/base/available_cpus.h"
#include "dataset/io/deflate_block.h"
#include "recordpipe/error.h"
#include "recordpipe/internal/fork.h"

namespace recordpipe {
namespace {

constexpr size_t kMostThreads = 16;
constexpr size_t kMostThreadsOfLargeTables = 2;
constexpr int kLevelOfLargeTables = 10;  // zstd's

size_t threads_for(const ParallelDeflateOptions& options) {
  const bool large =
      options.format == Compression::zstd && !options.fast && options.level >= kLevelOfLargeTables;
  return std::min(options.threads > 0 ? options.threads : available_cpus(),
                  large ? kMostThreadsOfLargeTables : kMostThreads);
}

class ParallelDeflateSink;

struct Job {
  ParallelDeflateSink& owner;
  std::string content;
  DeflatedPiece piece = {};
  std::exception_ptr error = nullptr;
  bool done = false;
};

}  // namespace

// Compresses the blocks of its sinks, and has them written in the order in which they began.
class DeflateThreads {
 public:
  explicit DeflateThreads(const ParallelDeflateOptions& options)
      : options_(options), threads_(threads_for(options)) {}

  // Discards blocks that nobody waits for.
  ~DeflateThreads() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    todo_came_.notify_all();
  }
  DeflateThreads(const DeflateThreads&) = delete;
  DeflateThreads& operator=(const DeflateThreads&) = delete;

  size_t count() const { return threads_; }

  DeflatedPiece compress(const Job& job) const {
    return deflate_block(std::as_bytes(std::span(job.content)), options_);
  }

  void begin(std::unique_ptr<Job> job) {
    if (in_flight_.size() >= 2 * threads_) write_oldest();
    if (workers_.size() < threads_) workers_.emplace_back([this] { run_jobs(); });
    {
      const std::lock_guard lock(mutex_);
      todo_.push_back(job.get());
    }
    in_flight_.push_back(std::move(job));
    todo_came_.notify_one();
  }

  // Writes the block that began first, of any sink.
  void write_oldest();

  // Discards the blocks of a sink.
  void discard(const ParallelDeflateSink& owner) {
    std::unique_lock lock(mutex_);
    std::erase_if(todo_, [&](Job* job) {
      if (&job->owner != &owner) return false;
      job->done = true;
      return true;
    });
    std::erase_if(in_flight_, [&](const std::unique_ptr<Job>& job) {
      if (&job->owner != &owner) return false;
      job_done_.wait(lock, [&] { return job->done; });
      return true;
    });
  }

 private:
  void run_jobs() {
    std::unique_lock lock(mutex_);
    while (true) {
      todo_came_.wait(lock, [&] { return over_ || !todo_.empty(); });
      if (over_) return;
      Job& job = *todo_.front();
      todo_.pop_front();
      lock.unlock();
      try {
        job.piece = compress(job);
      } catch (...) {
        job.error = std::current_exception();
      }
      lock.lock();
      job.done = true;
      job_done_.notify_one();
    }
  }

  const ParallelDeflateOptions options_;
  const size_t threads_;
  std::mutex mutex_;
  std::condition_variable todo_came_;
  std::condition_variable job_done_;
  std::deque<Job*> todo_;
  bool over_ = false;
  std::deque<std::unique_ptr<Job>> in_flight_;  // in order; of the caller's thread
  std::vector<std::jthread> workers_;           // last member: joined first
};

namespace {

class ParallelDeflateSink final : public ByteSink {
 public:
  ParallelDeflateSink(ByteSink& sink, const ParallelDeflateOptions& options,
                      std::shared_ptr<DeflateThreads> threads)
      : sink_(sink),
        options_(options),
        threads_(threads ? std::move(threads) : shared_deflate_threads(options)) {
    block_.reserve(options.block_size);
  }

  // Discards an unclosed stream.
  ~ParallelDeflateSink() override {
    if (in_flight_ > 0) threads_->discard(*this);
  }
  ParallelDeflateSink(const ParallelDeflateSink&) = delete;
  ParallelDeflateSink& operator=(const ParallelDeflateSink&) = delete;

  void write(std::span<const std::byte> data) override {
    while (!data.empty()) {
      const size_t count = std::min(data.size(), options_.block_size - block_.size());
      block_.append(reinterpret_cast<const char*>(data.data()), count);
      data = data.subspan(count);
      if (block_.size() == options_.block_size) end_block();
    }
  }

  void close() override {
    const bool is_zlib = options_.format == Compression::zlib;
    if (!block_.empty() || (!begun_ && !is_zlib)) end_block();
    block_ = {};
    while (in_flight_ > 0) threads_->write_oldest();
    if (!is_zlib) return;
    if (!begun_) write_text(zlib_stream_header(level()));
    write_text(zlib_stream_end(adler_));
  }

  const std::string& path() const override { return sink_.path(); }

  void write_compressed(const Job& job) {
    --in_flight_;
    if (job.error) std::rethrow_exception(job.error);
    write_piece(job);
  }

 private:
  int level() const { return options_.fast ? 1 : options_.level; }

  void end_block() {
    auto job = std::make_unique<Job>(Job{.owner = *this, .content = std::exchange(block_, {})});
    if (!begun_ && options_.format == Compression::zlib) write_text(zlib_stream_header(level()));
    begun_ = true;
    if (threads_->count() == 1) {
      job->piece = threads_->compress(*job);
      write_piece(*job);
      block_ = std::move(job->content);  // reuses the memory
      block_.clear();
      return;
    }
    block_.reserve(options_.block_size);
    threads_->begin(std::move(job));
    ++in_flight_;
  }

  void write_piece(const Job& job) {
    adler_ = combined_adler(adler_, job.piece.adler, job.content.size());
    write_text(job.piece.bytes);
  }

  void write_text(std::string_view text) { sink_.write(std::as_bytes(std::span(text))); }

  ByteSink& sink_;
  const ParallelDeflateOptions options_;
  const std::shared_ptr<DeflateThreads> threads_;
  std::string block_;
  size_t in_flight_ = 0;  // blocks
  bool begun_ = false;    // at least one block was ended
  uint32_t adler_ = 1;    // zlib: of the written content
};

// Its threads don't exist in a child made by fork(), so it is not destroyed there.
class ForkSafeSink final : public ByteSink {
 public:
  ForkSafeSink(ByteSink& sink, const ParallelDeflateOptions& options,
               std::shared_ptr<DeflateThreads> threads)
      : sink_(new ParallelDeflateSink(sink, options, std::move(threads))) {}

  void write(std::span<const std::byte> data) override {
    maker_.require_this("the compressor");
    sink_->write(data);
  }
  void close() override {
    maker_.require_this("the compressor");
    sink_->close();
  }
  const std::string& path() const override { return sink_->path(); }

 private:
  const internal::MakerProcess maker_;
  const std::unique_ptr<ParallelDeflateSink, internal::DeleteUnlessForked> sink_;
};

}  // namespace

void DeflateThreads::write_oldest() {
  const std::unique_ptr<Job> job = std::move(in_flight_.front());
  in_flight_.pop_front();
  {
    std::unique_lock lock(mutex_);
    job_done_.wait(lock, [&] { return job->done; });
  }
  job->owner.write_compressed(*job);
}

std::shared_ptr<DeflateThreads> shared_deflate_threads(const ParallelDeflateOptions& options) {
  return std::make_shared<DeflateThreads>(options);
}

std::unique_ptr<ByteSink> deflate_in_parallel(ByteSink& sink, const ParallelDeflateOptions& options,
                                              std::shared_ptr<DeflateThreads> threads) {
  require_deflate_level(options.format, options.fast ? 1 : options.level);
  return std::make_unique<ForkSafeSink>(sink, options, std::move(threads));
}

}  // namespace recordpipe
