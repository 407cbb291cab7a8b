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
#include "dataset/toolkit/files/held_damage.h"
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
  // The damage that `read` meets: it is told when all records before it were consumed, and more
  // are wanted.
  HeldDamage* damage = nullptr;
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
  // Damage ends a block, which may then be empty.
  struct Stretch {
    RecordBlock block;
    HeldDamage::Regions damage;
  };
  struct Done {
    Output output;
    HeldDamage::Regions damage;
  };
  const size_t max_threads =
      std::max<size_t>(2, parallel::kMaxInFlight / (options.growth * options.block_size));
  std::optional<NumberedRecord> behind;   // the record behind damage, until the next stretch
  std::optional<NumberedRecord> waiting;  // a large record, until the blocks before it are consumed
  std::exception_ptr failure;
  bool more = true;

  const auto next_stretch = [&]() -> std::optional<Stretch> {
    Stretch next;
    while (more && !waiting && next.block.memory() < options.block_size) {
      std::optional<NumberedRecord> record = std::exchange(behind, std::nullopt);
      if (!record) {
        try {
          record = read();
        } catch (...) {
          failure = std::current_exception();
        }
        more = record.has_value();
        if (options.damage) next.damage = options.damage->take();
        if (!next.damage.empty()) {
          behind = record;
          return next;
        }
      }
      if (!more) break;
      if (record->data.size() > options.large_size) {
        waiting = record;
        break;
      }
      next.block.append(*record);
    }
    return next.block.size() > 0 ? std::optional(std::move(next)) : std::nullopt;
  };
  bool wanted = true;
  const auto work_on = [&](Stretch stretch) {
    return Done{work(std::move(stretch.block)), std::move(stretch.damage)};
  };
  const auto consume_wanted = [&](Done done) {
    if (!wanted) return;
    wanted = consume(std::move(done.output));
    if (!wanted) {
      more = false;
    } else if (options.damage) {
      options.damage->tell(done.damage);
    }
  };
  while (more) {
    // If all records are large, no threads are started.
    std::optional<Stretch> begun = next_stretch();
    const auto next = [&] { return begun ? std::exchange(begun, std::nullopt) : next_stretch(); };
    if (begun) {
      parallel::in_order<Stretch, Done>(
          {.threads = std::min(threads, max_threads)}, next, work_on, consume_wanted,
          [&](const Stretch& stretch) { return options.growth * stretch.block.memory(); });
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
