// Divides a file into chunks for several threads, and assembles their results.
//
// Threads process chunks of the file ahead of the scan (scan_chunk): each thread finds a record
// start near the chunk's beginning and continues from there like a single-threaded scan. The scan
// itself moves from position to position. At a position where a chunk's thread began, the scan
// jumps to the position where that thread ended. Elsewhere (the thread found no record start,
// because records are long, or a false one inside another record's data), the scan assumes that
// headers are valid, distributes the CRC computations to the threads, and continues; if a CRC is
// wrong, the scan goes back. A single walk crosses damage, and its time is bounded even with false
// headers (record_walk.h). The scan stops assuming that headers are valid once it has lost too many
// bytes of work to false headers (kMaxScannedInVain).
#include "recordpipe/record/parallel_record_scanner.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <map>
#include <utility>
#include <vector>

#include "dataset/base/available_cpus.h"
#include "dataset/parallel/jobs.h"
#include "dataset/record/record_framing.h"
#include "dataset/record/scan/chunk_scan.h"
#include "dataset/record/scan/record_walk.h"
#include "dataset/record/scan/scan_input.h"
#include "recordpipe/base/internal/endian.h"
#include "recordpipe/checksum/crc32c.h"
#include "recordpipe/record/record_format.h"

namespace recordpipe {
namespace {

// After damage, the walk continues for this many bytes: if there is more damage, walking is faster
// than distributing a few records at a time.
constexpr uint64_t kWalkOn = uint64_t{64} << 10;
// Limit on bytes read in vain, in addition to the number of scanned bytes.
constexpr uint64_t kMaxScannedInVain = uint64_t{64} << 20;

uint64_t chunk_size_of(const ParallelScanOptions& options) {
  if (options.chunk_size > 0) return options.chunk_size;
  return std::clamp((uint64_t{32} << 20) / thread_count(options.threads), uint64_t{1} << 20,
                    uint64_t{8} << 20);
}

// A part of the scan that was distributed to threads, or is done. One of `facts`, `records` and
// `pieces` (of a single record) is used.
struct Planned {
  uint64_t begin = 0;
  uint64_t end = 0;
  std::deque<ParallelRecordScanner::Stretch> facts = {};
  parallel::Job<IntactRecords> records = {};
  std::vector<parallel::Job<uint32_t>> pieces = {};
};

}  // namespace

class ParallelRecordScanner::State {
 public:
  State(const RandomAccessFile& file, const ParallelScanOptions& options)
      : file_(file),
        size_(file.size()),
        chunk_size_(chunk_size_of(options)),
        stop_(options.stop),
        input_(file),
        walk_(input_, 0, {}, options.stop),
        only_walks_(thread_count(options.threads) == 1 &&
                    (size_ <= chunk_size_ || options.chunk_size == 0)),
        max_planned_(2 * thread_count(options.threads) + 1),
        jobs_(thread_count(options.threads)) {}

  std::optional<Stretch> next() {
    if (failure_) std::rethrow_exception(failure_);
    try {
      return next_stretch();
    } catch (...) {
      failure_ = std::current_exception();
      throw;
    }
  }

  uint64_t offset() const { return offset_; }

 private:
  std::optional<Stretch> next_stretch() {
    while (true) {
      if (only_walks_) return step();
      while (!damaged_ && planned_.size() < max_planned_ && plan_next()) {
      }
      if (planned_.empty()) {
        damaged_ = false;
        return step();
      }
      if (auto stretch = take()) return stretch;
    }
  }

  // Plans the part at plan_end_. Returns false at the end of the file, or if only a walk can
  // examine this part.
  bool plan_next() {
    if (plan_end_ >= size_) return false;
    const ChunkFacts& facts = facts_of(plan_end_ / chunk_size_);
    if (facts.begin == plan_end_) {
      Planned planned{.begin = plan_end_, .end = facts.end};
      // Copies the stretches, because the scan may go back to a position before them.
      planned.facts.assign(facts.stretches.begin(), facts.stretches.end());
      add(std::move(planned));
      return true;
    }
    const bool may_believe = plan_end_ >= walk_until_ && lost_ <= offset_ + kMaxScannedInVain;
    const auto end = may_believe ? end_of_record(plan_end_) : std::nullopt;
    if (!end) {
      damaged_ = true;
      return false;
    }
    if (*end - plan_end_ > chunk_size_ / 2) {
      plan_pieces(*end);
    } else {
      plan_records(*end);
    }
    return true;
  }

  void add(Planned planned) {
    plan_end_ = planned.end;
    planned_.push_back(std::move(planned));
  }

  // Returns the facts of a chunk. Starts threads on this chunk and on the following chunks.
  const ChunkFacts& facts_of(uint64_t chunk) {
    chunks_.erase(chunks_.begin(), chunks_.lower_bound(chunk));
    for (uint64_t i = chunk; i < chunk + max_planned_ && i * chunk_size_ < size_; ++i) {
      if (chunks_.contains(i)) continue;
      const uint64_t begin = i * chunk_size_;
      const uint64_t end = std::min(begin + chunk_size_, size_);
      chunks_[i].coming = jobs_.submit(
          [&file = file_, begin, end, stop = stop_] { return scan_chunk(file, begin, end, stop); });
    }
    Chunk& wanted = chunks_[chunk];
    if (wanted.coming.valid()) wanted.facts = wanted.coming.get();
    return wanted.facts;
  }

  // Returns the end of the record at `begin` if its header is valid.
  std::optional<uint64_t> end_of_record(uint64_t begin) {
    const RecordFrame frame =
        parse_record_header(input_.view(begin, kRecordHeaderSize), size_ - begin);
    if (!frame.ok()) return std::nullopt;
    return begin + frame.size();
  }

  // Plans one long record, divided into pieces.
  void plan_pieces(uint64_t end) {
    Planned planned{.begin = plan_end_, .end = end};
    const uint64_t data_end = end - kRecordFooterSize;
    for (uint64_t at = plan_end_ + kRecordHeaderSize; at < data_end; at += chunk_size_) {
      planned.pieces.push_back(
          jobs_.submit([&file = file_, at, until = std::min(at + chunk_size_, data_end)] {
            return check_piece(file, at, until);
          }));
    }
    add(std::move(planned));
  }

  // Plans the record that ends at `end`, and the records after it up to the next chunk or a long
  // record.
  void plan_records(uint64_t end) {
    const uint64_t begin = plan_end_;
    const uint64_t next_chunk = (begin / chunk_size_ + 1) * chunk_size_;
    while (end < next_chunk) {
      const auto next = end_of_record(end);
      if (!next || *next - end > chunk_size_ / 2) break;
      end = *next;
    }
    Planned planned{.begin = begin, .end = end};
    planned.records = jobs_.submit([&file = file_, begin, end, stop = stop_] {
      return check_records(file, begin, end, stop);
    });
    add(std::move(planned));
  }

  // Returns the next stretch of the first planned part, or std::nullopt if that part had none.
  std::optional<Stretch> take() {
    Planned& planned = planned_.front();
    if (planned.records.valid()) {
      const IntactRecords intact = planned.records.get();
      if (intact.end == planned.end) {
        planned_.pop_front();
      } else {
        come_back(intact.end);
      }
      offset_ = intact.end;
      return intact.records > 0 ? std::optional<Stretch>(intact) : std::nullopt;
    }
    if (!planned.pieces.empty()) {
      const IntactRecords intact{planned.begin, planned.end, 1};
      if (!pieces_fit(planned)) {
        come_back(planned.begin);
        return std::nullopt;
      }
      planned_.pop_front();
      offset_ = intact.end;
      return intact;
    }
    Stretch stretch = std::move(planned.facts.front());
    planned.facts.pop_front();
    offset_ = std::visit([](const auto& any) { return any.end; }, stretch);
    if (planned.facts.empty()) planned_.pop_front();
    return stretch;
  }

  bool pieces_fit(Planned& planned) {
    const uint64_t data_end = planned.end - kRecordFooterSize;
    uint64_t at = planned.begin + kRecordHeaderSize;
    uint32_t crc = 0;
    for (parallel::Job<uint32_t>& piece : planned.pieces) {
      const uint64_t piece_size = std::min(chunk_size_, data_end - at);
      crc = crc32c_concat(crc, piece.get(), piece_size);
      at += piece_size;
    }
    const auto footer = input_.view(data_end, kRecordFooterSize);
    return load_little_endian<uint32_t>(footer.data()) == mask_crc(crc);
  }

  // Goes back to `place`, because the work planned from there on was based on a false header.
  void come_back(uint64_t place) {
    lost_ += plan_end_ - place;
    planned_.clear();
    plan_end_ = place;
    damaged_ = true;
  }

  // Returns the walk's next result at plan_end_. Nothing may be planned.
  std::optional<Stretch> step() {
    const uint64_t begin = plan_end_;
    walk_.seek(begin);
    uint64_t records = walk_.pass_intact(only_walks_ ? begin + chunk_size_ : walk_until_);
    std::optional<Stretch> met;
    if (records > 0) {
      met = IntactRecords{begin, walk_.position(), records};
    } else {
      met = walk_.next();
    }
    plan_end_ = walk_.position();
    offset_ = plan_end_;
    if (met && std::holds_alternative<DamagedRegion>(*met)) walk_until_ = plan_end_ + kWalkOn;
    return met;
  }

  struct Chunk {
    parallel::Job<ChunkFacts> coming = {};
    ChunkFacts facts = {};
  };

  const RandomAccessFile& file_;
  const uint64_t size_;
  const uint64_t chunk_size_;
  const std::stop_token stop_;
  FileScanInput input_;
  RecordWalk walk_;
  // With one thread, another one would only cost time. (One of many files.)
  const bool only_walks_;
  const size_t max_planned_;

  std::map<uint64_t, Chunk> chunks_;  // by index
  std::deque<Planned> planned_;
  uint64_t plan_end_ = 0;  // end of the planned parts
  uint64_t offset_ = 0;    // position of next()
  uint64_t walk_until_ = 0;
  uint64_t lost_ = 0;     // bytes that were planned and read in vain
  bool damaged_ = false;  // only a walk can continue at plan_end_
  std::exception_ptr failure_;
  parallel::Jobs jobs_;  // last: ends before its jobs' data is destroyed
};

ParallelRecordScanner::ParallelRecordScanner(const RandomAccessFile& file,
                                             const ParallelScanOptions& options)
    : state_(new State(file, options)) {}
ParallelRecordScanner::~ParallelRecordScanner() = default;

std::optional<ParallelRecordScanner::Stretch> ParallelRecordScanner::next() {
  return state_->next();
}
uint64_t ParallelRecordScanner::offset() const { return state_->offset(); }

}  // namespace recordpipe
