// The same as RecordScanner (record_scanner.h) for a plain file, by many threads: what is found is
// a function of the file's bytes, not of the number of threads.
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

#include "recordpipe/file.h"
#include "recordpipe/toolkit/damaged_region.h"

namespace recordpipe {

// Records one after another, all of whose CRCs fit: bytes [begin, end) of the file.
struct IntactRecords {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t records = 0;
};

struct ParallelScanOptions {
  size_t threads = 0;  // that compute CRCs, beside the caller's; 0: available_cpus()
  // What a thread takes at a time. 0: 32 MiB over the threads, 1 to 8 MiB.
  uint64_t chunk_size = 0;
  std::stop_token stop = {};
};

// One thread at a time; the threads are its own. Not more than about 40 MiB of a mapped file (1.25
// MiB a thread, if that is more) are in the process's memory at a time, however large its records
// are; of a file that is not stable(), 1.25 MiB a thread. That file is read by each thread at its
// own place, 256 KiB at a time.
class ParallelRecordScanner {
 public:
  using Stretch = std::variant<IntactRecords, DamagedRegion>;

  // `file` must live as long as the scanner.
  explicit ParallelRecordScanner(const RandomAccessFile& file,
                                 const ParallelScanOptions& options = {});
  ~ParallelRecordScanner();
  ParallelRecordScanner(const ParallelRecordScanner&) = delete;
  ParallelRecordScanner& operator=(const ParallelRecordScanner&) = delete;

  // What follows, in the file's order: intact records (at least one; several calls may give parts
  // of what lies between two regions), or a damaged region, whole. Nothing at the end, and ever
  // after. Throws Error{cancelled} once a stop was requested, and what reading the file throws;
  // then every further call throws the same again. A file that another program changes meanwhile
  // yields stretches without gaps or overlaps all the same, each of which held when it was read.
  std::optional<Stretch> next();

  // Where the next stretch begins: how far the scan is.
  uint64_t offset() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace recordpipe
