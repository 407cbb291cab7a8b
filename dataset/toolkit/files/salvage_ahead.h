// Salvages several files at a time, with records and reports in the order of the files.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "dataset/toolkit/files/file_work.h"
#include "dataset/toolkit/files/scan_file.h"
#include "recordpipe/record/record_reader.h"
#include "recordpipe/record/record_writer.h"

namespace recordpipe {

// The files behind the current one are scanned on `threads` threads, which wait when what they
// found fills their share of 32 MiB, or 256 KiB if the share is smaller. Files that work alone
// (many_files.h) are scanned at their turn by all threads.
class SalvageAhead {
 public:
  // `work` and `paths` must outlive this object. `threads`: 0 for available_cpus().
  SalvageAhead(const FileWork& work, const std::vector<std::string>& paths,
               const RecordReadOptions& reading, size_t threads);
  // Ends the scans that are running.
  ~SalvageAhead();
  SalvageAhead(const SalvageAhead&) = delete;
  SalvageAhead& operator=(const SalvageAhead&) = delete;

  // salvage_file() of the next path; must be called once for each. Calls the sinks on this thread.
  ScanTotals next(const ScanSinks& sinks, RecordWriter& writer);

 private:
  struct State;

  std::unique_ptr<State> state_;
};

}  // namespace recordpipe
