// The work of a pipeline: from tickets to elements, on any thread, in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "dataset/pipeline/engine/element_buffer.h"
#include "dataset/pipeline/engine/memory_account.h"
#include "recordpipe/internal/element_ops.h"
#include "recordpipe/internal/ticket.h"

namespace recordpipe::internal {

class StageMonitor;

// Computes elements. Each producer belongs to one chunk at a time and keeps its scratch memory;
// several of one stage work at the same time.
class Producer {
 public:
  virtual ~Producer() = default;

  // Its time, and the memory of what it computes for another producer, are counted there.
  void observe(const std::shared_ptr<MemoryAccount>& account, StageMonitor* monitor,
               const ElementOps& ops);

  // Computes the elements of `tickets` into `out`: as many values, which may be overwritten.
  // Returns those that failed, whose values mean nothing. Each ticket is produced once, and one
  // that fails keeps no other from being computed. Doesn't throw what an element's work throws;
  // what it throws ends the pipeline.
  Failures produce(std::span<const Ticket> tickets, void* out);

  // The same cut into as many parts as Work::parts() says, which several threads do at once:
  // begin() with the same arguments as produce, then produce_part() once for each.
  void begin(std::span<const Ticket> tickets, void* out);
  Failures produce_part(std::span<const Ticket> tickets, void* out, size_t part);

  // Which of the elements computed last are wanted: a byte for each, or nothing where all are.
  // Those that failed are (filter).
  virtual std::span<const uint8_t> wanted() const { return {}; }

 protected:
  virtual Failures do_produce(std::span<const Ticket> tickets, void* out) = 0;
  virtual void do_begin(std::span<const Ticket> /*tickets*/, void* /*out*/) {}
  virtual Failures do_produce_part(std::span<const Ticket> tickets, void* out, size_t /*part*/) {
    return do_produce(tickets, out);
  }

 private:
  StageMonitor* monitor_ = nullptr;
  const ElementOps* ops_ = nullptr;
  MemoryCharge scratch_;
};

}  // namespace recordpipe::internal
