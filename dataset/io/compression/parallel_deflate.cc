#include "recordpipe/io/parallel_deflate.h"

#include <algorithm>
#include <deque>
#include <span>
#include <string>
#include <utility>

#include "dataset/base/available_cpus.h"
#include "dataset/io/compression/deflate_block.h"
#include "dataset/parallel/jobs.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/fork.h"

namespace recordpipe {
namespace {

constexpr size_t kMaxThreads = 16;
constexpr size_t kMaxThreadsOfLargeTables = 2;
constexpr int kLevelOfLargeTables = 10;  // zstd's

size_t threads_for(const ParallelDeflateOptions& options) {
  const bool large =
      options.format == Compression::zstd && !options.fast && options.level >= kLevelOfLargeTables;
  return std::min(options.threads > 0 ? options.threads : available_cpus(),
                  large ? kMaxThreadsOfLargeTables : kMaxThreads);
}

class ParallelDeflateSink;

}  // namespace

// Compresses the blocks of its sinks, and has them written in the order in which they began.
class DeflateThreads {
 public:
  explicit DeflateThreads(const ParallelDeflateOptions& options)
      : options_(options), threads_(threads_for(options)), jobs_(threads_) {}

  size_t count() const { return threads_; }

  DeflatedPiece compress(const std::string& content) const {
    return deflate_block(std::as_bytes(std::span(content)), options_);
  }

  void begin(ParallelDeflateSink& owner, std::string content) {
    if (in_flight_.size() >= 2 * threads_) write_oldest();
    // std::function copies what it calls: not the block.
    auto block = std::make_shared<const std::string>(std::move(content));
    const auto job = jobs_.submit([this, block] { return compress(*block); });
    in_flight_.push_back({&owner, block->size(), job});
  }

  // Writes the block that began first, of any sink.
  void write_oldest();

  // Discards the blocks of a sink.
  void discard(const ParallelDeflateSink& owner) {
    std::erase_if(in_flight_, [&](Block& block) {
      if (block.owner != &owner) return false;
      (void)block.piece.drop();
      return true;
    });
  }

 private:
  struct Block {
    ParallelDeflateSink* owner;
    size_t size;  // of the content
    parallel::Job<DeflatedPiece> piece;
  };

  const ParallelDeflateOptions options_;
  const size_t threads_;
  std::deque<Block> in_flight_;  // in order
  parallel::Jobs jobs_;          // last: waits for the blocks
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

  void write_compressed(parallel::Job<DeflatedPiece> piece, size_t size) {
    --in_flight_;
    write_piece(piece.get(), size);
  }

 private:
  int level() const { return options_.fast ? 1 : options_.level; }

  void end_block() {
    if (!begun_ && options_.format == Compression::zlib) write_text(zlib_stream_header(level()));
    begun_ = true;
    if (threads_->count() == 1) {
      write_piece(threads_->compress(block_), block_.size());
      block_.clear();
      return;
    }
    threads_->begin(*this, std::exchange(block_, {}));
    block_.reserve(options_.block_size);
    ++in_flight_;
  }

  // `size`: of the content.
  void write_piece(const DeflatedPiece& piece, size_t size) {
    adler_ = combined_adler(adler_, piece.adler, size);
    write_text(piece.bytes);
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
  Block block = std::move(in_flight_.front());
  in_flight_.pop_front();
  block.owner->write_compressed(std::move(block.piece), block.size);
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
