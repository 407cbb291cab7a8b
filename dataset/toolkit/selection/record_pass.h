// One pass over records on all threads, results in order. Short records are copied into blocks, so
// that other threads can work on one while the next is read; long ones stay where they are, so that
// there is never a second copy of one in memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "dataset/toolkit/parallel_in_order.h"
#include "recordpipe/record.h"

namespace recordpipe {

// Records one after another, about as many as PassOptions::block_size takes.
class RecordBlock {
 public:
  // For a block that starts at record `first`.
  explicit RecordBlock(uint64_t first = 0) : first_(first) {}

  // Copies the record behind the last one.
  void append(const Record& record) {
    places_.push_back({record.offset, record.path, bytes_.size(), record.data.size()});
    bytes_.insert(bytes_.end(), record.data.begin(), record.data.end());
  }

  // The number of its first record in the file, from 0.
  uint64_t first() const { return first_; }
  size_t size() const { return places_.size(); }
  // Record first() + i. It lives as long as the block.
  Record operator[](size_t i) const {
    const Place& place = places_[i];
    return {.data = std::span(bytes_).subspan(place.begin, place.size),
            .offset = place.offset,
            .path = place.path};
  }
  // What the block takes: something for each record, which may be of no length.
  size_t memory() const { return bytes_.size() + places_.size() * sizeof(Place); }

 private:
  struct Place {
    uint64_t offset;        // in the file
    std::string_view path;  // the record's
    size_t begin;           // in bytes_
    size_t size;
  };

  uint64_t first_;
  std::vector<std::byte> bytes_;
  std::vector<Place> places_;
};

struct PassOptions {
  size_t block_size = size_t{256} << 10;  // about so many bytes are worked on together
  size_t large_size = size_t{3} << 20;    // records of more are large
  // What work() makes of a block takes up to so many times as much as the block: as many fewer of
  // them are on their way at a time, to bound memory (parallel_in_order.h), and no more threads
  // work than there are blocks for: each keeps memory of its own.
  size_t growth = 1;
};

// Calls consume(work(block)) for blocks of records, and large(number, record) for each record of
// more than large_size; consume() and large() on the calling thread, in the order of the records,
// while they return true. `read` gives the records, numbered from `first`; what it throws comes out
// after all records before it were consumed. work() runs on several threads.
template <typename Output>
void pass_over_records(const std::function<std::optional<Record>()>& read, uint64_t first,
                       size_t threads, const std::function<Output(RecordBlock)>& work,
                       const std::function<bool(Output)>& consume,
                       const std::function<bool(uint64_t, const Record&)>& large,
                       const PassOptions& options = {}) {
  const size_t most_threads =
      std::max<size_t>(2, kMostOnTheirWay / (options.growth * options.block_size));
  uint64_t number = first;
  std::optional<Record> waiting;  // a large one, after the blocks before it
  std::exception_ptr failure;
  bool more = true;

  const auto next_block = [&]() -> std::optional<RecordBlock> {
    RecordBlock block(number);
    while (more && !waiting && block.memory() < options.block_size) {
      std::optional<Record> record;
      try {
        record = read();
      } catch (...) {
        failure = std::current_exception();
      }
      more = record.has_value();
      if (!more) break;
      if (record->data.size() > options.large_size) {
        waiting = record;
        break;
      }
      block.append(*record);
      ++number;
    }
    return block.size() > 0 ? std::optional(std::move(block)) : std::nullopt;
  };
  bool wanted = true;
  const auto consume_wanted = [&](Output output) {
    if (!wanted) return;
    wanted = consume(std::move(output));
    if (!wanted) more = false;
  };
  while (more) {
    // No threads are begun for nothing, where all records are large.
    std::optional<RecordBlock> begun = next_block();
    const auto next = [&] { return begun ? std::exchange(begun, std::nullopt) : next_block(); };
    if (begun) {
      parallel_in_order<RecordBlock, Output>(
          std::min(threads, most_threads), next, work, consume_wanted,
          [&](const RecordBlock& block) { return options.growth * block.memory(); });
    }
    if (waiting && wanted) {
      wanted = large(number++, *waiting);
      if (!wanted) more = false;
    }
    waiting.reset();
  }
  // (What was only seen by reading ahead of the last wanted record doesn't matter.)
  if (failure && wanted) std::rethrow_exception(failure);
}

}  // namespace recordpipe
