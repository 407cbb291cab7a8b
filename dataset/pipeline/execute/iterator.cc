// Implements AnyIterator: a pass over a Dataset, computed by an Executor of its last stage.
#include "recordpipe/pipeline/iterator.h"

#include <atomic>
#include <span>
#include <vector>

#include "dataset/base/available_cpus.h"
#include "dataset/base/require.h"
#include "dataset/pipeline/execute/executor.h"
#include "dataset/pipeline/execute/memory_account.h"
#include "dataset/pipeline/observe/stage_monitor.h"
#include "dataset/pipeline/plan/node.h"
#include "dataset/pipeline/plan/skip_log.h"
#include "dataset/pipeline/plan/stage_context.h"
#include "dataset/pipeline/state/file_fingerprints.h"
#include "dataset/pipeline/state/iterator_state.h"
#include "dataset/pipeline/state/plan_state.h"
#include "recordpipe/base/error.h"
#include "recordpipe/pipeline/internal/operators.h"

namespace recordpipe::internal {

namespace {

PlanDescription compared_plan(const Node& node) {
  PlanDescription plan = node.describe();
  (void)plan.free_last_shards();
  return plan;
}

// Converts the position of a pipeline that ends in shard operators to that of the same pipeline
// without them, and back.
//
// A shard's position is always between two groups of its input's elements. So n elements of a
// worker are n * num_shards elements of the input, or up to num_shards - 1 fewer at its end.
//
// `shards`: num_shards of the operators, the last operator's first
// (PlanDescription::free_last_shards).
PlanState without_last_shards(PlanState place, std::span<const uint64_t> shards) {
  for (const uint64_t num_shards : shards) {
    PlanState input = std::move(place.inputs[0]);
    if (place.passed_over > 0) {
      input.passed_over += place.passed_over * num_shards;
      input.past_end += place.past_end * num_shards + num_shards - 1;
    }
    place = std::move(input);
  }
  return place;
}

PlanState with_last_shards(PlanState place, std::span<const uint64_t> shards) {
  for (size_t i = 0; i < shards.size(); ++i) {
    PlanState shard;
    shard.inputs.push_back(std::move(place));
    place = std::move(shard);
  }
  return place;
}

// The number of workers that share the elements.
uint64_t workers_of(std::span<const uint64_t> shards) {
  uint64_t workers = 1;
  for (const uint64_t num_shards : shards) workers *= num_shards;
  return workers;
}

}  // namespace

StageContext make_stage_context(const PipelineOptions& options) {
  require(options.threads <= PipelineOptions::kMaxThreads,
          "threads must be at most " + std::to_string(PipelineOptions::kMaxThreads));
  require(options.chunk_size >= 1 && options.chunk_size <= PipelineOptions::kMaxChunkSize,
          "chunk_size must be from 1 to " + std::to_string(PipelineOptions::kMaxChunkSize));
  StageContext context;
  context.threads = options.threads > 0 ? options.threads : available_cpus();
  context.tune_threads = options.threads == 0;
  context.chunk_size = options.chunk_size;
  context.skipped = std::make_shared<SkipLog>();
  context.memory = std::make_shared<MemoryAccount>(options.memory_limit);
  context.files = std::make_shared<FileFingerprints>();
  context.monitor = std::make_shared<PipelineMonitor>(context.threads, options.trace);
  context.stage = &context.monitor->consumer();
  if (context.threads > 1) context.crew = std::make_shared<parallel::Crew>(context.threads - 1);
  return context;
}

// The stages use parts of the node, so the node must outlive them, also when another iterator is
// assigned to this one.
struct AnyIterator::Pass {
  Pass(NodePtr n, const PipelineOptions& options, uint64_t e)
      : node(std::move(n)),
        workers(workers_of(node->describe().free_last_shards())),
        context(make_stage_context(options)),
        executor(node->make_stage(context), context),
        epoch(e) {
    executor.restart(epoch);
  }

  // Like Executor::next(), except that it throws after a stop.
  Chunk next() {
    try {
      if (const Chunk chunk = executor.next(); !chunk.empty() || !is_stopping) return chunk;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::cancelled || !is_stopping) throw;
    }
    has_failed = false;  // the position can still be saved
    throw Error({.kind = ErrorKind::cancelled,
                 .reason = "the iterator was stopped",
                 .hint = "its state can still be saved and restored"});
  }

  // Like Executor::restore().
  void go_to(const IteratorPlace& place, std::span<const uint64_t> shards) {
    PlanState at = place.plan;
    if (!at.numbers.empty() || !at.inputs.empty()) {
      executor.restore(with_last_shards(std::move(at), shards), place.epoch);
      return;
    }
    executor.restart(place.epoch);
    if (at.passed_over == 0) return;
    // The start of the epoch, as a place that the shards can be put around.
    PlanState start;
    executor.save(executor.position(), start);
    start = without_last_shards(std::move(start), shards);
    start.passed_over += at.passed_over;
    executor.restore(with_last_shards(std::move(start), shards), place.epoch);
  }

  // The place after `here` elements of the executor.
  IteratorPlace place_at(uint64_t here, std::span<const uint64_t> shards) const {
    IteratorPlace place{.position = earlier + here * workers, .epoch = epoch};
    executor.save(here, place.plan);
    place.plan = without_last_shards(std::move(place.plan), shards);
    return place;
  }

  // Goes to the place, and counts from there.
  void continue_at(const IteratorPlace& place, std::span<const uint64_t> shards) {
    go_to(place, shards);
    require_input_files(*context.files);
    // An operator may have taken the stop for the end of its elements.
    if (is_stopping) throw Error({.kind = ErrorKind::cancelled});
    epoch = place.epoch;
    earlier = place.position - executor.position() * workers;
  }

  // After a place was not reached. Returns false if this one is not reached, either.
  bool go_back(const IteratorPlace& place, std::span<const uint64_t> shards) noexcept {
    (void)context.files->take_unexpected();  // ends the comparison with the state
    try {
      continue_at(place, shards);
      return true;
    } catch (...) {
      return false;
    }
  }

  const NodePtr node;
  const uint64_t workers;  // that share the elements, by shards that come last
  const StageContext context;
  Executor executor;
  uint64_t epoch;
  const MakerProcess maker;
  uint64_t earlier = 0;     // number of all workers' elements before those that the executor counts
  bool has_failed = false;  // next() has thrown,
  uint64_t failed_at = 0;   // after this number of elements
  std::atomic<bool> is_stopping = false;  // after request_stop(), until restore()
  // request_stop() as a whole comes before or after restore() has cleared is_stopping, and before
  // or after it has asked whether it was stopped.
  std::mutex stop_mutex;
};

AnyIterator::AnyIterator(NodePtr node, const PipelineOptions& options, uint64_t epoch)
    : pass_(new Pass(std::move(node), options, epoch)), size_(pass_->node->element().size) {}
AnyIterator::~AnyIterator() = default;
AnyIterator::AnyIterator(AnyIterator&&) noexcept = default;
AnyIterator& AnyIterator::operator=(AnyIterator&&) noexcept = default;

AnyIterator::Pass& AnyIterator::pass() const {
  pass_->maker.require_this("the iterator");
  return *pass_;
}

bool AnyIterator::fetch() {
  if (!pass().has_failed) pass_->failed_at = pass_->executor.position() + at_;
  at_ = count_ = 0;  // first: next() may throw
  can_unread_ = false;
  PipelineMonitor& monitor = *pass().context.monitor;
  monitor.asked();
  pass_->has_failed = true;
  const Chunk chunk = pass_->next();
  pass_->has_failed = false;
  pass_->executor.release(pass_->executor.position());
  values_ = static_cast<std::byte*>(chunk.values);
  count_ = chunk.size();
  monitor.answered(count_);
  return count_ > 0;
}

void AnyIterator::unread() {
  require(can_unread_, "unread() must follow a call of next() that returned an element");
  can_unread_ = false;
  --at_;
}

std::string AnyIterator::state() const {
  require(!pass().has_failed, "an iterator that has ended with an error has no state to save",
          "go on from a state saved before, or leave bad elements out by "
          "ignore_errors");
  PlanDescription plan = pass_->node->describe();
  const std::vector<uint64_t> shards = plan.free_last_shards();
  const IteratorPlace place = pass_->place_at(pass_->executor.position() + at_, shards);
  return save_iterator_state(plan, place, *pass_->context.files);
}

void AnyIterator::restore(std::string_view state) {
  PlanDescription plan = pass().node->describe();
  const std::vector<uint64_t> shards = plan.free_last_shards();
  const IteratorPlace place = load_iterator_state(plan, state, *pass_->context.files);
  const uint64_t here = pass_->has_failed ? pass_->failed_at : pass_->executor.position() + at_;
  const IteratorPlace before = pass_->place_at(here, shards);
  at_ = count_ = 0;
  can_unread_ = pass_->has_failed = false;
  {
    const std::lock_guard lock(pass_->stop_mutex);
    pass_->is_stopping = false;
  }
  try {
    pass_->continue_at(place, shards);
  } catch (...) {
    bool was_stopped = false;
    {
      const std::lock_guard lock(pass_->stop_mutex);
      was_stopped = pass_->is_stopping;
    }
    if (!was_stopped && pass_->go_back(before, shards)) throw;
    (void)pass_->context.files->take_unexpected();
    pass_->is_stopping = false;
    pass_->executor.restart(pass_->epoch);
    pass_->earlier = 0;
    if (!was_stopped) throw;
    throw Error({.kind = ErrorKind::cancelled,
                 .reason = "the iterator was stopped on the way to a saved position",
                 .hint = "it starts its epoch again; the state can be restored again"});
  }
}

std::string AnyIterator::with_own_code(std::string_view state) const {
  return with_code_of(compared_plan(*pass().node), state);
}

void AnyIterator::request_stop() {
  const std::lock_guard lock(pass().stop_mutex);
  pass_->is_stopping = true;
  pass_->executor.request_stop();
}

uint64_t AnyIterator::epoch() const { return pass().epoch; }

uint64_t AnyIterator::position() const {
  const uint64_t here = pass().has_failed ? pass_->failed_at : pass_->executor.position() + at_;
  return pass_->earlier / pass_->workers + here;
}

uint64_t AnyIterator::workers() const { return pass().workers; }

SkippedReport AnyIterator::skipped() const { return pass().context.skipped->report(); }
PipelineStatistics AnyIterator::statistics() const { return pass().context.monitor->statistics(); }
MemoryUse AnyIterator::memory() const { return pass().context.memory->use(); }

uint64_t random_operators(const NodePtr& node) { return node->random_operators(); }
std::string explain(const NodePtr& node) {
  return node->describe().text(PlanDescription::Detail::explained);
}
uint64_t plan_hash(const NodePtr& node) { return compared_plan(*node).hash(); }
std::vector<std::string> not_compared(const NodePtr& node) {
  return node->describe().not_compared();
}
Cardinality cardinality(const NodePtr& node) { return node->cardinality(); }

}  // namespace recordpipe::internal
