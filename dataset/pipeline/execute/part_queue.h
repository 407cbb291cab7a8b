// Distributes the parts of an Executor's chunks to threads.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "dataset/parallel/crew.h"
#include "dataset/pipeline/execute/element_buffer.h"
#include "dataset/pipeline/execute/memory_account.h"
#include "dataset/pipeline/execute/producer.h"
#include "dataset/pipeline/plan/stage.h"
#include "recordpipe/pipeline/internal/ticket.h"

namespace recordpipe::internal {

class StageMonitor;

// The memory in which a chunk is computed; reused from chunk to chunk.
struct Workspace {
  Workspace(const Stage& stage, const std::shared_ptr<MemoryAccount>& account)
      : values(stage.work->element(), stage.chunk_size),
        producer(stage.work->make_producer()),
        memory(account) {}

  void measure() { memory.set(values.bytes()); }

  ElementBuffer values;
  std::unique_ptr<Producer> producer;  // with its scratch memory
  MemoryCharge memory;                 // for the values, including values kept for reuse
  std::thread::id owner;               // the last user: its core's cache holds the memory
};

// The elements of a chunk, and its progress.
class ChunkSlot {
 public:
  std::vector<Ticket> tickets;
  size_t count = 0;  // number of tickets in use
  // The rest is guarded by PartQueue::mutex until all parts are done.
  std::unique_ptr<Workspace> workspace;  // set while a thread computes or reads the values
  size_t parts = 0;
  size_t next_part = 0;   // the first part that no thread has taken
  size_t unfinished = 0;  // number of parts that are not done
  Failures failures;
  std::exception_ptr broken;  // an error thrown by a producer itself

  void reset(size_t number_of_parts);
  // Computes one part, without PartQueue::mutex.
  Failures produce(size_t part);
  // Adds the failures of a part. Keeps only those of the first failed part (in the order of the
  // elements), whichever part was done first.
  void add(size_t part, Failures of_part);

 private:
  void begin(std::span<const Ticket> chunk);

  size_t failed_part_ = 0;  // if there are failures
  std::mutex begin_mutex_;
  bool is_begun_ = false;
  std::exception_ptr begin_error_;
};

// The parts of the chunks in flight, to be taken by workers.
//
// A thread stays with the chunk it has begun, in memory that it has written before, and helps with
// another thread's chunk only if there is no chunk to begin. Moving cache lines between cores costs
// more than the computation: in a bare loop, two threads that fill batches of images take nearly
// twice as long if they swap their memory.
struct PartQueue final : parallel::Work {
  explicit PartQueue(StageMonitor* stage) : owner(stage) {}

  StageMonitor* const owner;  // lives until cancel() returns
  std::mutex mutex;
  std::condition_variable part_done;
  std::vector<ChunkSlot*> waiting;               // chunks with parts that are not taken, in order
  std::vector<std::unique_ptr<Workspace>> idle;  // the longest idle first
  size_t running = 0;
  size_t visits = 0;  // number of workers in work() or about to call it
  bool stopping = false;

  void work() noexcept override;
  bool is_done(const ChunkSlot& slot);
  // Waits until all parts of the slot are done and returns true. After request_stop(), returns
  // false: the elements may be incomplete.
  bool wait(ChunkSlot& slot);
  // Waits until all parts of the slot are done, even after request_stop().
  void finish(ChunkSlot& slot);
  // Adds a workspace for later chunks; there must be one for each chunk in flight.
  void put(std::unique_ptr<Workspace> workspace);
  // Frees the memory of an idle workspace; one must be idle.
  void drop_workspace();
  void request_stop();
  void resume();
  // Drops the waiting parts and returns when no part is running.
  void cancel();

 private:
  // Computes a part, or waits until another thread has finished one.
  void help(std::unique_lock<std::mutex>& lock);
  void run_one(std::unique_lock<std::mutex>& lock);
  ChunkSlot& choose();
  std::unique_ptr<Workspace> take_workspace(std::thread::id self);
};

}  // namespace recordpipe::internal
