// Handles SIGBUS for mapped files, so that an unreadable page does not kill the process.
//
// If another program truncates a mapped file, or if the device fails, the kernel sends SIGBUS at
// the instruction that touches the page. The first guard installs a process-wide handler: for a
// fault inside a guarded range, it maps a page of zeros there, marks the guard as tripped, and
// resumes the instruction. Any other SIGBUS goes to the handler that was installed before, or kills
// the process. A program that installs its own handler later must chain to this one.
#pragma once

#include <cstddef>
#include <span>

namespace recordpipe {

class BusErrorGuard {
 public:
  // `range` must start at a page boundary, belong to a single mapping, and stay mapped for the
  // lifetime of the guard.
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
