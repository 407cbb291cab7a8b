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

class ParallelDeflateSink final : public ByteSink {
 public:
  ParallelDeflateSink(ByteSink& sink, const ParallelDeflateOptions& options)
      : sink_(sink), options_(options), threads_(threads_for(options)) {
    block_.reserve(kDeflateBlockSize);
  }

  // Discards an unclosed stream.
  ~ParallelDeflateSink() override {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    todo_came_.notify_all();
  }
  ParallelDeflateSink(const ParallelDeflateSink&) = delete;
  ParallelDeflateSink& operator=(const ParallelDeflateSink&) = delete;

  void write(std::span<const std::byte> data) override {
    while (!data.empty()) {
      const size_t count = std::min(data.size(), kDeflateBlockSize - block_.size());
      block_.append(reinterpret_cast<const char*>(data.data()), count);
      data = data.subspan(count);
      if (block_.size() == kDeflateBlockSize) end_block();
    }
  }

  void close() override {
    const bool is_zlib = options_.format == Compression::zlib;
    if (!block_.empty() || (!begun_ && !is_zlib)) end_block();
    while (!in_flight_.empty()) write_oldest();
    if (!is_zlib) return;
    if (!begun_) write_text(zlib_stream_header(level()));
    write_text(zlib_stream_end(adler_));
  }

  const std::string& path() const override { return sink_.path(); }

 private:
  struct Job {
    std::string content;
    DeflatedPiece piece = {};
    std::exception_ptr error = nullptr;
    bool done = false;
  };

  int level() const { return options_.fast ? 1 : options_.level; }

  void end_block() {
    auto job = std::make_unique<Job>(Job{.content = std::exchange(block_, {})});
    if (!begun_ && options_.format == Compression::zlib) write_text(zlib_stream_header(level()));
    begun_ = true;
    if (threads_ == 1) {
      job->piece = compress(*job);
      write_piece(*job);
      block_ = std::move(job->content);  // reuses the memory
      block_.clear();
      return;
    }
    block_.reserve(kDeflateBlockSize);
    if (in_flight_.size() >= 2 * threads_) write_oldest();
    if (workers_.size() < threads_) workers_.emplace_back([this] { run_jobs(); });
    {
      const std::lock_guard lock(mutex_);
      todo_.push_back(job.get());
    }
    in_flight_.push_back(std::move(job));
    todo_came_.notify_one();
  }

  DeflatedPiece compress(const Job& job) const {
    return deflate_block(std::as_bytes(std::span(job.content)), options_);
  }

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

  void write_oldest() {
    const Job& job = *in_flight_.front();
    {
      std::unique_lock lock(mutex_);
      job_done_.wait(lock, [&] { return job.done; });
    }
    if (job.error) std::rethrow_exception(job.error);
    write_piece(job);
    in_flight_.pop_front();
  }

  void write_piece(const Job& job) {
    adler_ = combined_adler(adler_, job.piece.adler, job.content.size());
    write_text(job.piece.bytes);
  }

  void write_text(std::string_view text) { sink_.write(std::as_bytes(std::span(text))); }

  ByteSink& sink_;
  const ParallelDeflateOptions options_;
  const size_t threads_;
  std::string block_;
  bool begun_ = false;  // at least one block was ended
  uint32_t adler_ = 1;  // zlib: of the written content

  std::mutex mutex_;
  std::condition_variable todo_came_;
  std::condition_variable job_done_;
  std::deque<Job*> todo_;
  bool over_ = false;
  std::deque<std::unique_ptr<Job>> in_flight_;  // in order
  std::vector<std::jthread> workers_;           // last member: joined first
};

// Its threads don't exist in a child made by fork(), so it is not destroyed there.
class ForkSafeSink final : public ByteSink {
 public:
  ForkSafeSink(ByteSink& sink, const ParallelDeflateOptions& options)
      : sink_(new ParallelDeflateSink(sink, options)) {}

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

std::unique_ptr<ByteSink> deflate_in_parallel(ByteSink& sink,
                                              const ParallelDeflateOptions& options) {
  require_deflate_level(options.format, options.fast ? 1 : options.level);
  return std::make_unique<ForkSafeSink>(sink, options);
}

}  // namespace recordpipe
