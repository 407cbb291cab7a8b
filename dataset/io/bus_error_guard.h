// Keeps the process alive when a page of a mapped file can't be read.
//
// A file that another program cuts short while it is mapped, or a device that fails, is reported by
// SIGBUS at the instruction that touches the page. The first guard installs a handler for that
// signal, for the whole process: a fault inside a guarded range puts a page of zeros there, marks
// the guard as tripped, and lets the instruction go on. Every other SIGBUS goes to the handler that
// was installed before, or kills the process as it would have. A program that installs its own
// handler later must pass on what it doesn't know.
#pragma once

#include <cstddef>
#include <span>

namespace recordpipe {

class BusErrorGuard {
 public:
  // `range` starts at a page and is private to one mapping; it must stay mapped as long as this
  // lives.
  explicit BusErrorGuard(std::span<const std::byte> range);
  ~BusErrorGuard();
  BusErrorGuard(const BusErrorGuard&) = delete;
  BusErrorGuard& operator=(const BusErrorGuard&) = delete;

  // Whether a page of the range was replaced.
  bool tripped() const;

 private:
  struct Slot;
  friend struct BusErrorHandler;
  Slot* slot_;
};

}  // namespace recordpipe
