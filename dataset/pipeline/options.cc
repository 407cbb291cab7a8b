// From options to what the stages share.
#include "dataset/pipeline/options.h"

#include <algorithm>
#include <memory>
#include <thread>

#include "dataset/pipeline/worker_pool.h"

namespace recordpipe {

StageContext make_stage_context(const PipelineOptions& options) {
  StageContext context;
  context.threads = options.threads;
  if (context.threads == 0) {
    context.threads = std::max<size_t>(1, std::thread::hardware_concurrency());
  }
  context.chunk_size = std::max<size_t>(1, options.chunk_size);
  if (context.threads > 1) context.pool = std::make_shared<WorkerPool>(context.threads - 1);
  return context;
}

}  // namespace recordpipe
