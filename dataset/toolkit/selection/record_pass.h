// Processes records in a single pass on several threads, with results in order. Short records are
// copied into blocks, so that other threads can process a block while the next block is read. Long
// records are not copied, so memory holds each of them only once.
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

#include "dataset/parallel/in_order.h"
#include "recordpipe/record/record.h"
#include "recordpipe/toolkit/where.h"

namespace recordpipe {

// Consecutive records of about PassOptions::block_size bytes.
class RecordBlock {
 public:
  // Appends a copy of the record.
  void append(const NumberedRecord& record) {
    places_.push_back(
        {record.offset, record.number, record.path, bytes_.size(), record.data.size()});
    bytes_.insert(bytes_.end(), record.data.begin(), record.data.end());
  }

  size_t size() const { return places_.size(); }
  // Returns record i of the block, which is valid as long as the block.
  NumberedRecord operator[](size_t i) const {
    const Place& place = places_[i];
    return {{.data = std::span(bytes_).subspan(place.begin, place.size),
             .offset = place.offset,
             .path = place.path},
            place.number};
  }
  // The memory of the block. Includes a fixed size per record, because records may be empty.
  size_t memory() const { return bytes_.size() + places_.size() * sizeof(Place); }

 private:
  struct Place {
    uint64_t offset;        // in the file
    uint64_t number;        // of the record
    std::string_view path;  // of the record
    size_t begin;           // in bytes_
    size_t size;
  };

  std::vector<std::byte> bytes_;
  std::vector<Place> places_;
};

struct PassOptions {
  size_t block_size = size_t{256} << 10;  // approximate bytes per unit of work
  size_t large_size = size_t{3} << 20;    // larger records count as large
  // The maximum ratio of the size of work()'s output to the size of the block. To bound memory, a
  // larger ratio reduces the number of blocks in flight (in_order.h) and the number of
  // threads, each of which needs its own memory.
  size_t growth = 1;
};

// Calls consume(work(block)) for blocks of records, and large(record) for each record above
// large_size. consume() and large() run on the calling thread, in the order of the records, until
// one of them returns false; work() runs on several threads. An exception from `read`
// is rethrown after all earlier records have been consumed.
template <typename Output>
void pass_over_records(const std::function<std::optional<NumberedRecord>()>& read, size_t threads,
                       const std::function<Output(RecordBlock)>& work,
                       const std::function<bool(Output)>& consume,
                       const std::function<bool(const NumberedRecord&)>& large,
                       const PassOptions& options = {}) {
  const size_t max_threads =
      std::max<size_t>(2, parallel::kMaxInFlight / (options.growth * options.block_size));
  std::optional<NumberedRecord> waiting;  // a large record, until the blocks before it are consumed
  std::exception_ptr failure;
  bool more = true;

  const auto next_block = [&]() -> std::optional<RecordBlock> {
    RecordBlock block;
    while (more && !waiting && block.memory() < options.block_size) {
      std::optional<NumberedRecord> record;
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
    // If all records are large, no threads are started.
    std::optional<RecordBlock> begun = next_block();
    const auto next = [&] { return begun ? std::exchange(begun, std::nullopt) : next_block(); };
    if (begun) {
      parallel::in_order<RecordBlock, Output>(
          {.threads = std::min(threads, max_threads)}, next, work, consume_wanted,
          [&](const RecordBlock& block) { return options.growth * block.memory(); });
    }
    if (waiting && wanted) {
      wanted = large(*waiting);
      if (!wanted) more = false;
    }
    waiting.reset();
  }
  // (An error found by reading beyond the last wanted record is ignored.)
  if (failure && wanted) std::rethrow_exception(failure);
}

}  // namespace recordpipe
