// Event files, written off the hot path: callers only hand over values, a thread of the writer's
// own encodes and writes them.
//
//     EventWriter events(posix_file_system(), "jobs/one");
//     events.add_summary(step, {{"loss", ScalarSummary{loss}}});
//
// What fails on that thread (a full disk, say) is kept and thrown by the next call, each failure
// once. The event that was being written is lost then, its file ends with the last whole record and
// perhaps a piece of one, and the writer goes on with what has been waiting in a new file. A caller
// to whom his training matters more than its log therefore catches the Error, tells it to somebody,
// and goes on (trainer/include/recordpipe/trainer/session/write_events.h).
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
#include <thread>
#include <vector>

#include "recordpipe/file.h"
#include "recordpipe/trainer/summary/event.h"
#include "recordpipe/trainer/summary/event_file.h"

namespace recordpipe {

double seconds_since_1970();

struct EventWriterOptions {
  // What has been written is made to survive a power loss as often, and by flush() and at the end.
  double flush_seconds = 120;
  // Of events that wait to be written. Where one more would be too much, its caller waits; one that
  // is larger waits until it is alone.
  size_t max_queued_bytes = size_t{64} << 20;
  // The time that events are stamped with; called by the thread that adds them.
  std::function<double()> now = seconds_since_1970;
  std::string host = host_name();
};

// All from any thread.
class EventWriter {
 public:
  // The folder and the file are made when the first event comes. `file_system` must outlive it.
  // Throws Error{invalid_argument} where `flush_seconds` is no length of time.
  EventWriter(FileSystem& file_system, std::string folder, EventWriterOptions options = {});
  // Flushes. What fails then can't be told any more: flush() first to hear of it.
  ~EventWriter();

  void add_summary(uint64_t step, std::vector<SummaryValue> values);
  void add_session_log(uint64_t step, SessionLog log);

  // Waits until all events are in the file, and the file is safe.
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

  // The writing thread's own.
  std::unique_ptr<EventFile> file_;           // null before the first event and after a failure
  std::optional<Clock::time_point> sync_at_;  // at the latest, where something isn't safe yet

  std::mutex mutex_;              // of all that follows
  std::condition_variable work_;  // for the writing thread
  std::condition_variable done_;  // for those who wait for it
  std::deque<Event> queue_;
  size_t queued_bytes_ = 0;
  bool flush_wanted_ = false;
  bool stopping_ = false;
  std::exception_ptr failure_;  // until it has been thrown the writing thread waits
  std::thread thread_;          // last: it uses the others
};

}  // namespace recordpipe
