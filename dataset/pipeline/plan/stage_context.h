// Objects shared by the stages of one iteration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace recordpipe::parallel {
class Crew;
}

namespace recordpipe {

struct PipelineOptions;

namespace internal {

class FileFingerprints;
class MemoryAccount;
class OpenFiles;
class PipelineMonitor;
class SkipLog;
class StageMonitor;

struct StageContext {
  std::shared_ptr<parallel::Crew> crew;  // null: the requesting thread does all work
  size_t threads = 1;                    // at most, including the requesting thread
  bool tune_threads = false;             // `threads` is a maximum: use only as many as are useful
  size_t chunk_size = 64;                // source elements per unit of work
  std::shared_ptr<SkipLog> skipped;      // the elements that ignore_errors skips
  // SkipLog::add_source() of an operator that opens its inputs anew in each pass, for all of them.
  std::optional<uint64_t> source = {};
  bool errors_are_skipped = false;  // by an ignore_errors that follows
  std::shared_ptr<MemoryAccount> memory;
  std::shared_ptr<FileFingerprints> files;  // the opened files
  // Keeps open the mapped files that elements may point into. Null: elements don't outlive the
  // stages.
  std::shared_ptr<OpenFiles> open_files;
  std::shared_ptr<PipelineMonitor> monitor;  // null: new stages are not measured
  // The stage whose input is being made. An Executor counts its work and waiting for this stage.
  // Owned by the monitor.
  StageMonitor* stage = nullptr;

  // For stages that an operator makes while it runs: they are measured as part of the operator.
  StageContext unmonitored() const {
    StageContext context = *this;
    context.monitor = nullptr;
    return context;
  }
};

// The context of one iteration, with a crew if there is more than one thread. Throws
// Error{invalid_argument} for options out of range.
StageContext make_stage_context(const PipelineOptions& options);

}  // namespace internal
}  // namespace recordpipe
