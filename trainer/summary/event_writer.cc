#include "recordpipe/trainer/summary/event_writer.h"

#include <chrono>
#include <utility>

#include "dataset/parallel/service_thread.h"
#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

std::chrono::steady_clock::duration to_interval(double seconds) {
  constexpr double year = 366 * 86400.0;  // a duration that every clock can represent
  if (!(seconds >= 0 && seconds <= year))
    throw Error(
        {.kind = ErrorKind::invalid_argument,
         .reason = "the flush interval of event files must be between 0 seconds and a year"});
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(seconds));
}

}  // namespace

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

EventWriter::EventWriter(FileSystem& file_system, std::string folder, EventWriterOptions options)
    : file_system_(file_system),
      folder_(std::move(folder)),
      host_(std::move(options.host)),
      max_queued_bytes_(options.max_queued_bytes),
      flush_interval_(to_interval(options.flush_seconds)),
      now_(std::move(options.now)) {
  thread_ = std::make_unique<parallel::ServiceThread>("rp-events",
                                                      [this](const std::stop_token&) { run(); });
}

EventWriter::~EventWriter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_one();
  thread_->join();
}

void EventWriter::add_summary(uint64_t step, std::vector<SummaryValue> values) {
  add({.wall_time = now_(), .step = step, .what = std::move(values)});
}

void EventWriter::add_session_log(uint64_t step, SessionLog log) {
  add({.wall_time = now_(), .step = step, .what = std::move(log)});
}

void EventWriter::add(Event event) {
  const size_t bytes = event.bytes();
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] {
    return failure_ || queue_.empty() || queued_bytes_ + bytes <= max_queued_bytes_;
  });
  throw_failure();
  queue_.push_back(std::move(event));
  queued_bytes_ += bytes;
  work_.notify_one();
}

void EventWriter::flush() {
  std::unique_lock lock(mutex_);
  throw_failure();
  flush_wanted_ = true;
  work_.notify_one();
  done_.wait(lock, [&] { return failure_ || !flush_wanted_; });
  throw_failure();
}

// The mutex must be held. Lets the writing thread continue.
void EventWriter::throw_failure() {
  if (!failure_) return;
  work_.notify_one();
  std::rethrow_exception(std::exchange(failure_, nullptr));
}

void EventWriter::run() {
  std::unique_lock lock(mutex_);
  const auto is_wanted = [&] { return stopping_ || !queue_.empty() || flush_wanted_; };
  while (true) {
    work_.wait(lock, [&] { return stopping_ || !failure_; });
    if (sync_at_)
      work_.wait_until(lock, *sync_at_, is_wanted);
    else
      work_.wait(lock, is_wanted);
    if (stopping_ && (failure_ || (queue_.empty() && !sync_at_))) return;

    const bool sync_due = sync_at_ && Clock::now() >= *sync_at_;
    // While it is written it stays in the queue and counts as queued.
    const Event* const event = queue_.empty() || sync_due ? nullptr : &queue_.front();
    lock.unlock();
    std::exception_ptr failure;
    try {
      event != nullptr ? write(*event) : sync();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (event != nullptr) {
      queued_bytes_ -= event->bytes();
      queue_.pop_front();
    }
    if (failure || (event == nullptr && queue_.empty())) flush_wanted_ = false;
    failure_ = failure;
    done_.notify_all();
  }
}

void EventWriter::write(const Event& event) {
  const std::string record = encode_event(event);  // before the file is touched, so that a failure
                                                   // leaves it intact
  or_leave_file([&] {
    if (!file_) file_ = std::make_unique<EventFile>(file_system_, folder_, event.wall_time, host_);
    if (!sync_at_) sync_at_ = Clock::now() + flush_interval_;
    file_->write(record);
  });
}

void EventWriter::sync() {
  or_leave_file([&] {
    if (file_) file_->sync();
    sync_at_.reset();
  });
}

template <typename Action>
void EventWriter::or_leave_file(Action action) {
  try {
    action();
  } catch (...) {
    file_.reset();
    sync_at_.reset();
    throw;
  }
}

}  // namespace recordpipe
