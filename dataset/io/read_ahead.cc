#include "dataset/io/read_ahead.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <stop_token>
#include <utility>
#include <vector>

#include "dataset/parallel/service_thread.h"
#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

struct Block {
  std::unique_ptr<std::byte[]> bytes;
  size_t size = 0;
  std::exception_ptr failure = {};  // in place of bytes; the source continues after the failure
};

}  // namespace

// A ring of n blocks. The reader thread fills blocks[filled % n]. The consumer reads
// blocks[used % n] and holds it until the next request. filled - used blocks are ready or held.
struct ReadAhead::State {
  State(std::unique_ptr<ByteSource> byte_source, const ReadAheadOptions& options)
      : source(std::move(byte_source)),
        block_size(options.block_size),
        reads_on(options.read_on_after_damage),
        blocks(options.blocks) {
    for (Block& block : blocks) {
      block.bytes = std::make_unique_for_overwrite<std::byte[]>(block_size);
    }
    reader = parallel::ServiceThread("rp-read-ahead",
                                     [this](const std::stop_token& stop) { read_blocks(stop); });
  }

  void read_blocks(const std::stop_token& stop) {
    while (true) {
      {
        std::unique_lock lock(mutex);
        if (!changed.wait(lock, stop, [&] { return filled - used < blocks.size(); })) return;
        if (stop.stop_requested()) return;
      }
      // No other thread uses this block until `filled` is incremented.
      Block& block = blocks[filled % blocks.size()];
      block.size = 0;
      std::exception_ptr thrown;
      try {
        block.size = source->read({block.bytes.get(), block_size});
      } catch (const Error& error) {
        const bool goes_on = reads_on && is_damage(error.kind());
        (goes_on ? block.failure : thrown) = std::current_exception();
      } catch (...) {
        thrown = std::current_exception();
      }
      const std::lock_guard lock(mutex);
      if (block.size == 0 && !block.failure) {
        failure = thrown;
        ended = true;
        changed.notify_all();
        return;
      }
      ++filled;
      changed.notify_all();
    }
  }

  std::span<const std::byte> next() {
    maker.require_this("the reader");
    std::unique_lock lock(mutex);
    if (holding) {
      ++used;
      holding = false;
      changed.notify_all();
    }
    changed.wait(lock, [&] { return filled > used || ended; });
    if (filled == used) {
      if (failure) std::rethrow_exception(failure);
      return {};
    }
    holding = true;
    Block& block = blocks[used % blocks.size()];
    // The exception is moved, so that only one thread frees it.
    if (block.failure) std::rethrow_exception(std::exchange(block.failure, nullptr));
    return {block.bytes.get(), block.size};
  }

  std::unique_ptr<ByteSource> source;
  const internal::MakerProcess maker;
  const size_t block_size;
  const bool reads_on;
  std::span<const std::byte> left;  // unread rest of the current block; used by the consumer only

  std::vector<Block> blocks;
  std::mutex mutex;
  std::condition_variable_any changed;
  size_t filled = 0;
  size_t used = 0;
  bool holding = false;
  bool ended = false;
  std::exception_ptr failure;

  parallel::ServiceThread reader;  // last member: joined before the others are destroyed
};

ReadAhead::ReadAhead(std::unique_ptr<ByteSource> source, const ReadAheadOptions& options)
    : state_(new State(std::move(source), options)) {}

ReadAhead::~ReadAhead() = default;

std::span<const std::byte> ReadAhead::peek() {
  if (state_->left.empty()) state_->left = state_->next();
  return state_->left;
}

std::span<const std::byte> ReadAhead::next() {
  peek();
  return std::exchange(state_->left, {});
}

size_t ReadAhead::read(std::span<std::byte> out) {
  const std::span<const std::byte> bytes = peek();
  const size_t count = std::min(out.size(), bytes.size());
  // std::ranges::copy() to a span's iterator copies byte by byte (libstdc++ 12).
  std::copy_n(bytes.data(), count, out.data());
  state_->left = bytes.subspan(count);
  return count;
}

const std::string& ReadAhead::path() const { return state_->source->path(); }

}  // namespace recordpipe
