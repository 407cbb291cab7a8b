// From options to what the stages share.
#include "recordpipe/options.h"

#include <memory>
#include <string>

#include "dataset/base/available_cpus.h"
#include "dataset/pipeline/engine/file_fingerprints.h"
#include "dataset/pipeline/engine/memory_account.h"
#include "dataset/pipeline/engine/skip_log.h"
#include "dataset/pipeline/engine/stage_context.h"
#include "dataset/pipeline/engine/stage_monitor.h"
#include "dataset/pipeline/engine/worker_pool.h"
#include "recordpipe/error.h"

namespace recordpipe::internal {

StageContext make_stage_context(const PipelineOptions& options) {
  if (options.threads > PipelineOptions::kMaxThreads) {
    throw Error(
        {.kind = ErrorKind::invalid_argument,
         .reason = "threads must be at most " + std::to_string(PipelineOptions::kMaxThreads)});
  }
  if (options.chunk_size < 1 || options.chunk_size > PipelineOptions::kMaxChunkSize) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "chunk_size must be from 1 to " +
                           std::to_string(PipelineOptions::kMaxChunkSize)});
  }
  StageContext context;
  context.threads = options.threads > 0 ? options.threads : available_cpus();
  context.tune_threads = options.threads == 0;
  context.chunk_size = options.chunk_size;
  context.skipped = std::make_shared<SkipLog>();
  context.memory = std::make_shared<MemoryAccount>(options.memory_limit);
  context.files = std::make_shared<FileFingerprints>();
  context.monitor = std::make_shared<PipelineMonitor>(context.threads, options.trace);
  context.stage = &context.monitor->consumer();
  if (context.threads > 1) context.pool = std::make_shared<WorkerPool>(context.threads - 1);
  return context;
}

}  // namespace recordpipe::internal
