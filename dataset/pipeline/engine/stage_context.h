// What the stages of one iteration share.
#pragma once

#include <cstddef>
#include <memory>

namespace recordpipe {

struct PipelineOptions;

namespace internal {

class FileFingerprints;
class MemoryAccount;
class OpenFiles;
class PipelineMonitor;
class SkipLog;
class StageMonitor;
class WorkerPool;

struct StageContext {
  std::shared_ptr<WorkerPool> pool;  // null: all work is done on the thread that asks for it
  size_t threads = 1;                // that work at the same time, the asking one included
  bool tune_threads = false;         // that is the most: as many of them as make a difference
  size_t chunk_size = 64;            // source elements that one thread does in one go
  std::shared_ptr<SkipLog> skipped;  // what ignore_errors leaves out
  std::shared_ptr<MemoryAccount> memory;
  std::shared_ptr<FileFingerprints> files;  // that were opened
  // Keeps the mapped files that elements may point into. Null: elements are not kept longer than
  // the stages live.
  std::shared_ptr<OpenFiles> open_files;
  std::shared_ptr<PipelineMonitor> monitor;  // null: nothing new is measured by itself
  // Whose input is being made: what an Executor does and waits for is done for it. The monitor's.
  StageMonitor* stage = nullptr;

  // For what a stage makes while it runs: that counts as its own.
  StageContext unmonitored() const {
    StageContext context = *this;
    context.monitor = nullptr;
    return context;
  }
};

// The context of one iteration, with a pool of its own where there is more than one thread. Throws
// Error{invalid_argument} for options out of range.
StageContext make_stage_context(const PipelineOptions& options);

}  // namespace internal
}  // namespace recordpipe
