#include "dataset/record/scan/chunk_scan.h"

#include <algorithm>
#include <utility>

#include "dataset/record/scan/record_walk.h"
#include "dataset/record/scan/scan_input.h"

namespace recordpipe {
namespace {

// The search distance for a record's start. If records are longer, walking their headers is cheap.
constexpr uint64_t kSearch = uint64_t{64} << 10;
// Limit on the stretches of a chunk, so that a file full of damage takes little memory. The scan
// itself continues after them.
constexpr size_t kMaxStretches = 1000;
// Returns how many bytes of the file a thread may keep resident: a whole chunk, which is released
// at once, because each release interrupts all threads.
uint64_t resident(uint64_t chunk) { return std::max(chunk, uint64_t{256} << 10); }

// Releases the pages of [begin, end) of the file when this object is destroyed.
class ReleaseAtEnd {
 public:
  ReleaseAtEnd(const RandomAccessFile& file, uint64_t begin, const uint64_t& end)
      : file_(file), begin_(begin), end_(end) {}
  ~ReleaseAtEnd() {
    if (end_ > begin_) file_.hint(begin_, end_ - begin_, ReadHint::done);
  }
  ReleaseAtEnd(const ReleaseAtEnd&) = delete;
  ReleaseAtEnd& operator=(const ReleaseAtEnd&) = delete;

 private:
  const RandomAccessFile& file_;
  const uint64_t begin_;
  const uint64_t& end_;
};

}  // namespace

ChunkFacts scan_chunk(const RandomAccessFile& file, uint64_t begin, uint64_t end,
                      std::stop_token stop) {
  ChunkFacts facts;
  uint64_t touched = std::min(begin + kSearch, end);
  const ReleaseAtEnd release(file, begin, touched);
  FileScanInput input(file, begin, end, resident(end - begin));
  RecordWalk walk(input, begin, {.horizon = end + (end - begin) / 2}, std::move(stop));
  if (!walk.find_before(touched)) return facts;
  const uint64_t first = walk.position();
  while (walk.position() < end && facts.stretches.size() < kMaxStretches) {
    const uint64_t from = walk.position();
    if (const uint64_t records = walk.pass_intact(end); records > 0) {
      facts.stretches.push_back(IntactRecords{from, walk.position(), records});
      continue;
    }
    auto step = walk.next();
    if (!step) break;
    facts.stretches.push_back(*std::move(step));
  }
  touched = std::max(touched, walk.position());
  // The record that was found may be gone, because another program may change the file.
  if (facts.stretches.empty()) return facts;
  facts.begin = first;
  facts.end = walk.position();
  return facts;
}

IntactRecords check_records(const RandomAccessFile& file, uint64_t begin, uint64_t end,
                            std::stop_token stop) {
  const ReleaseAtEnd release(file, begin, end);
  FileScanInput input(file, begin, end, resident(end - begin));
  RecordWalk walk(input, begin, {.horizon = end}, std::move(stop));
  IntactRecords intact{begin, begin, 0};
  while (walk.position() < end) {
    intact.records += walk.pass_intact(end);
    intact.end = walk.position();
    if (intact.end >= end) break;
    const auto step = walk.next();
    if (!step || std::holds_alternative<DamagedRegion>(*step)) break;
    intact.records += 1;
    intact.end = walk.position();
  }
  return intact;
}

uint32_t check_piece(const RandomAccessFile& file, uint64_t begin, uint64_t end) {
  // Releases the pages that were mapped to read the record's header and footer.
  const ReleaseAtEnd release(file, begin, end);
  return FileScanInput(file, begin, end).crc_in_passing(begin, end);
}

}  // namespace recordpipe
