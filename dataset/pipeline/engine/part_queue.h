// The work that an Executor has handed out.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "dataset/pipeline/engine/element_buffer.h"
#include "dataset/pipeline/engine/memory_account.h"
#include "dataset/pipeline/engine/producer.h"
#include "dataset/pipeline/engine/stage.h"
#include "dataset/pipeline/engine/worker_pool.h"
#include "recordpipe/internal/ticket.h"

namespace recordpipe::internal {

class StageMonitor;

// What a chunk is computed in: memory that goes from chunk to chunk.
struct Workspace {
  Workspace(const Stage& stage, const std::shared_ptr<MemoryAccount>& account)
      : values(stage.work->element(), stage.chunk_size),
        producer(stage.work->make_producer()),
        memory(account) {}

  void measure() { memory.set(values.bytes()); }

  ElementBuffer values;
  std::unique_ptr<Producer> producer;  // with its scratch memory
  MemoryCharge memory;                 // for the values, also those that wait to be used again
  std::thread::id owner;               // whose core has it in its cache: who used it last
};

// A chunk: its elements, and how far they are.
class ChunkSlot {
 public:
  std::vector<Ticket> tickets;
  size_t count = 0;  // of tickets in use
  // The rest is guarded by PartQueue::mutex until all parts are done.
  std::unique_ptr<Workspace> workspace;  // while somebody computes or reads the values
  size_t parts = 0;
  size_t next_part = 0;   // the first that nobody has taken
  size_t unfinished = 0;  // parts
  Failures failures;
  std::exception_ptr broken;  // what a producer threw itself

  void reset(size_t number_of_parts);
  // The work of one part, without PartQueue::mutex.
  Failures produce(size_t part);
  // Keeps the failures of the first part in the order of the elements that has some, whichever part
  // was done first.
  void add(size_t part, Failures of_part);

 private:
  void begin(std::span<const Ticket> chunk);

  size_t failed_part_ = 0;  // where there are failures
  std::mutex begin_mutex_;
  bool is_begun_ = false;
  std::exception_ptr begin_error_;
};

// What the workers see: the parts of the chunks in flight.
//
// A thread stays with the chunk it has begun, in memory that it has written before, and helps with
// another's only when there is none to begin. Lines that go from one core's cache to another's cost
// more than the work on them: a bare loop of two threads that fill batches of images takes nearly
// twice as long where they swap them.
struct PartQueue final : WorkQueue {
  explicit PartQueue(StageMonitor* stage) : owner(stage) {}

  StageMonitor* const owner;  // lives until cancel() is over
  std::mutex mutex;
  std::condition_variable part_done;
  std::vector<ChunkSlot*> waiting;               // those with parts that nobody has taken, in order
  std::vector<std::unique_ptr<Workspace>> idle;  // in the order they became so
  size_t running = 0;
  size_t visits = 0;  // of workers that are here or on their way
  bool stopping = false;

  void work() override;
  bool is_done(const ChunkSlot& slot);
  // Until all parts of the slot are done: true. False when it is to stop.
  bool wait(ChunkSlot& slot);
  // Until all parts of the slot are done, whether or not it is to stop.
  void finish(ChunkSlot& slot);
  // For chunks to come; there must be as many as chunks in flight.
  void put(std::unique_ptr<Workspace> workspace);
  // Gives the memory back of one that is idle, as one must be.
  void drop_workspace();
  void request_stop();
  void resume();
  // Drops what waits and returns when nothing runs any more.
  void cancel();

 private:
  // Does a part, or waits for somebody to be done with one.
  void help(std::unique_lock<std::mutex>& lock);
  void run_one(std::unique_lock<std::mutex>& lock);
  ChunkSlot& choose();
  std::unique_ptr<Workspace> take_workspace(std::thread::id self);
};

}  // namespace recordpipe::internal
