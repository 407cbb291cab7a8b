// Computes elements from tickets, on any thread, in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "dataset/pipeline/execute/element_buffer.h"
#include "dataset/pipeline/execute/memory_account.h"
#include "recordpipe/pipeline/internal/element_ops.h"
#include "recordpipe/pipeline/internal/ticket.h"

namespace recordpipe::internal {

class StageMonitor;

// Computes elements. Each producer works for one chunk at a time and keeps its scratch memory;
// several producers of one stage work at the same time.
class Producer {
 public:
  virtual ~Producer() = default;

  // `monitor` counts the producer's time; `account` is charged for the memory of the elements that
  // it computes for another producer.
  void observe(const std::shared_ptr<MemoryAccount>& account, StageMonitor* monitor,
               const ElementOps& ops);

  // Computes the elements of `tickets` into `out`: the same number of values, which may be
  // overwritten. Returns the failures; the values of failed elements are unspecified. Each ticket
  // is produced once, and a failing element doesn't affect others. Errors of elements are returned;
  // an exception ends the pipeline.
  Failures produce(std::span<const Ticket> tickets, void* out);

  // Like produce(), but divided into Work::parts() parts that several threads compute at the same
  // time: begin() with the same arguments as produce(), then produce_part() once for each part.
  void begin(std::span<const Ticket> tickets, void* out);
  Failures produce_part(std::span<const Ticket> tickets, void* out, size_t part);

  // Which of the last computed elements are kept (filter): one byte for each element, or empty if
  // all are kept. Failed elements are kept.
  virtual std::span<const uint8_t> wanted() const { return {}; }
  // The sizes of the last computed elements, by which they are grouped (measured_elements.h): the
  // same number of sizes for each element; those of failed elements are unspecified.
  virtual std::span<const uint64_t> sizes() const { return {}; }

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
