// Runs RecordScanner (record_scanner.h) on several threads, for plain files. The result depends
// only on the file's bytes, not on the number of threads.
//
//     const auto file = files.map(path);  // or open_random(path), for example for a URL
//     ParallelRecordScanner scanner(*file);
//     while (const auto stretch = scanner.next()) {
//       if (const auto* intact = std::get_if<IntactRecords>(&*stretch)) records += intact->records;
//       else report(std::get<DamagedRegion>(*stretch));
//     }
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <variant>

#include "recordpipe/base/internal/fork.h"
#include "recordpipe/io/file.h"
#include "recordpipe/record/damaged_region.h"

namespace recordpipe {

// Consecutive records with matching CRCs: bytes [begin, end) of the file.
struct IntactRecords {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t records = 0;
};

struct ParallelScanOptions {
  size_t threads = 0;  // the caller's among them; 0: available_cpus()
  // Bytes per unit of work. 0 (default): 32 MiB divided by the number of threads, at least 1 MiB
  // and at most 8 MiB.
  uint64_t chunk_size = 0;
  std::stop_token stop = {};
};

// Not thread-safe. Resident memory of a mapped file: at most about 40 MiB
// (or 1.25 MiB per thread, if that is more), for records of any size. For a file that is not
// stable(): 1.25 MiB per thread; each thread reads the file at its own offset, 256 KiB at a time.
class ParallelRecordScanner {
 public:
  using Stretch = std::variant<IntactRecords, DamagedRegion>;

  // `file` must outlive the scanner.
  explicit ParallelRecordScanner(const RandomAccessFile& file,
                                 const ParallelScanOptions& options = {});
  ~ParallelRecordScanner();
  ParallelRecordScanner(const ParallelRecordScanner&) = delete;
  ParallelRecordScanner& operator=(const ParallelRecordScanner&) = delete;

  // Returns the next region in file order: intact records (at least one; records between two
  // damaged regions may be split over several calls) or a complete damaged region; nullopt at the
  // end and on every later call. Throws Error{cancelled} after a stop request, and errors of
  // reading the file; each further call throws the same error. If another program changes the file
  // during the scan, the regions still have no gaps or overlaps, and each region was correct when
  // it was read.
  std::optional<Stretch> next();

  // Returns the offset of the next region: the progress of the scan.
  uint64_t offset() const;

 private:
  class State;
  std::unique_ptr<State, internal::DeleteUnlessForked> state_;
};

}  // namespace recordpipe
