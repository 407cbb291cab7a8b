// Writes event files outside the training loop: callers pass values, a thread of the writer encodes
// and writes them.
//
//     EventWriter events(posix_file_system(), "jobs/one");
//     events.add_summary(step, {{"loss", ScalarSummary{loss}}});
//
// A failure on that thread (for example a full disk) is thrown by the next call, each failure once.
// The event being written is then lost; its file ends with the last whole record and possibly a
// partial one. The writer continues with the waiting events in a new file. A caller whose training
// must not end because of its log catches the Error, reports it, and continues
// (trainer/include/recordpipe/trainer/session/write_events.h).
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "recordpipe/io/file.h"
#include "recordpipe/trainer/summary/event.h"
#include "recordpipe/trainer/summary/event_file.h"

namespace recordpipe::parallel {
class ServiceThread;
}

namespace recordpipe {

double seconds_since_1970();

struct EventWriterOptions {
  // The interval at which written events are synced to survive a power loss; flush() and the
  // destructor sync too.
  double flush_seconds = 120;
  // The limit on the size of queued events. A call that would exceed it waits; an event larger than
  // the limit waits until the queue is empty.
  size_t max_queued_bytes = size_t{64} << 20;
  // The wall time of events; called by the thread that adds them.
  std::function<double()> now = seconds_since_1970;
  std::string host = host_name();
};

// Thread-safe.
class EventWriter {
 public:
  // The folder and the file are made at the first event. `file_system` must outlive the writer.
  // Throws Error{invalid_argument} if `flush_seconds` is not a valid duration.
  EventWriter(FileSystem& file_system, std::string folder, EventWriterOptions options = {});
  // Flushes. Errors are lost here; call flush() first to get them.
  ~EventWriter();

  void add_summary(uint64_t step, std::vector<SummaryValue> values);
  void add_session_log(uint64_t step, SessionLog log);

  // Waits until all events are written and synced.
  void flush();

 private:
  using Clock = std::chrono::steady_clock;

  void add(Event event);
  void throw_failure();
  void run();
  void write(const Event& event);
  void sync();
  template <typename Action>
  void or_leave_file(Action action);

  FileSystem& file_system_;
  const std::string folder_;
  const std::string host_;
  const size_t max_queued_bytes_;
  const Clock::duration flush_interval_;
  const std::function<double()> now_;

  // Used by the writing thread only.
  std::unique_ptr<EventFile> file_;           // null before the first event and after a failure
  std::optional<Clock::time_point> sync_at_;  // the latest time for the next sync, if anything is
                                              // unsynced

  std::mutex mutex_;              // guards the members below
  std::condition_variable work_;  // wakes the writing thread
  std::condition_variable done_;  // wakes callers that wait for it
  std::deque<Event> queue_;
  size_t queued_bytes_ = 0;
  bool flush_wanted_ = false;
  bool stopping_ = false;
  std::exception_ptr failure_;  // the writing thread waits until it has been thrown
  std::unique_ptr<parallel::ServiceThread> thread_;  // last, because it uses the others
};

}  // namespace recordpipe
