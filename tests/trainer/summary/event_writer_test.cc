#include "recordpipe/trainer/summary/event_writer.h"

#include <cerrno>
#include <future>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "recordpipe/base/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/faulty_file_system.h"
#include "tests/support/temporary_directory.h"
#include "tests/trainer/summary/event_files.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<SummaryValue> loss(double value) { return {{"loss", ScalarSummary{value}}}; }

// Counts the syncs of files. Writes wait until open_gate() is called.
class GatedFileSystem final : public FileSystem {
 public:
  void open_gate() { gate_.set_value(); }
  // Returns after `count` syncs.
  void await_syncs(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return syncs_ >= count; });
  }
  int syncs() const {
    const std::lock_guard lock(mutex_);
    return syncs_;
  }

  std::unique_ptr<ByteSource> open_source(const std::string& path) override {
    return base_.open_source(path);
  }
  std::unique_ptr<RandomAccessFile> open_random(const std::string& path) override {
    return base_.open_random(path);
  }
  std::unique_ptr<MappedFile> map(const std::string& path) override { return base_.map(path); }
  std::unique_ptr<OutputFile> create(const std::string& path, CreateMode mode) override {
    return std::make_unique<Output>(*this, base_.create(path, mode));
  }
  std::optional<FileStatus> status(const std::string& path) override { return base_.status(path); }
  std::string resolve_link(const std::string& path) override { return base_.resolve_link(path); }
  std::vector<std::string> list(const std::string& path) override { return base_.list(path); }
  void make_directories(const std::string& path) override { base_.make_directories(path); }
  void rename(const std::string& from, const std::string& to) override { base_.rename(from, to); }
  void remove(const std::string& path) override { base_.remove(path); }
  void remove_empty_directory(const std::string& path) override {
    base_.remove_empty_directory(path);
  }
  void sync_directory(const std::string& path) override { base_.sync_directory(path); }
  std::unique_ptr<FileLock> lock(const std::string& path) override { return base_.lock(path); }

 private:
  class Output final : public OutputFile {
   public:
    Output(GatedFileSystem& files, std::unique_ptr<OutputFile> base)
        : files_(files), base_(std::move(base)) {}
    void write(std::span<const std::byte> data) override {
      files_.opened_.wait();
      base_->write(data);
    }
    void close() override { base_->close(); }
    const std::string& path() const override { return base_->path(); }
    void sync() override {
      base_->sync();
      const std::lock_guard lock(files_.mutex_);
      ++files_.syncs_;
      files_.changed_.notify_all();
    }
    void copy_permissions(const std::string& path) override { base_->copy_permissions(path); }

   private:
    GatedFileSystem& files_;
    std::unique_ptr<OutputFile> base_;
  };

  FileSystem& base_ = posix_file_system();
  std::promise<void> gate_;
  std::shared_future<void> opened_ = gate_.get_future().share();
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int syncs_ = 0;
};

TEST(EventWriter, WritesAllEventsInOrder) {
  const TemporaryDirectory folder;
  double time = 1000;
  {
    EventWriter events(posix_file_system(), folder.path(),
                       {.now = [&] { return ++time; }, .host = "host"});
    events.add_session_log(1, {.status = SessionStatus::start});
    for (uint64_t step = 1; step <= 100; ++step)
      events.add_summary(step, loss(static_cast<double>(step) / 4));
    events.add_session_log(
        100, {.status = SessionStatus::checkpoint, .checkpoint_path = "jobs/checkpoint-100"});
    events.add_session_log(100, {.status = SessionStatus::stop});
  }
  EXPECT_THAT(posix_file_system().list(folder.path()),
              ElementsAre("events.out.tfevents.0000001001.host." + std::to_string(getpid())));
  const std::vector<proto::Event> events = events_in(folder.path());
  ASSERT_EQ(events.size(), 104u);
  EXPECT_EQ(events[0].file_version(), "brain.Event:2");
  EXPECT_EQ(events[0].wall_time(), 1001);
  EXPECT_EQ(events[1].session_log().status(), proto::SessionLog::START);
  EXPECT_EQ(events[1].step(), 1);
  for (int step = 1; step <= 100; ++step) {
    const proto::Event& event = events[static_cast<size_t>(step) + 1];
    EXPECT_EQ(event.step(), step);
    EXPECT_EQ(event.wall_time(), 1001 + step);
    ASSERT_EQ(event.summary().value_size(), 1);
    EXPECT_EQ(event.summary().value(0).tag(), "loss");
    EXPECT_EQ(event.summary().value(0).simple_value(), static_cast<float>(step) / 4);
  }
  EXPECT_EQ(events[102].session_log().checkpoint_path(), "jobs/checkpoint-100");
  EXPECT_EQ(events[103].session_log().status(), proto::SessionLog::STOP);
}

TEST(EventWriter, MakesNoFileForNothing) {
  const TemporaryDirectory folder;
  {
    EventWriter events(posix_file_system(), folder / "run");
    events.flush();
  }
  EXPECT_THAT(posix_file_system().list(folder.path()), IsEmpty());
}

TEST(EventWriter, HasWrittenAllWhenFlushReturns) {
  const TemporaryDirectory folder;
  GatedFileSystem files;
  files.open_gate();
  EventWriter events(files, folder.path());
  for (uint64_t step = 1; step <= 20; ++step) {
    events.add_summary(step, loss(1));
    if (step % 5 != 0) continue;
    events.flush();
    EXPECT_EQ(summary_steps_in(folder.path()).size(), step);
    EXPECT_GE(files.syncs(), static_cast<int>(step / 5));
  }
}

// The file is synced without any further call.
TEST(EventWriter, SyncsByItself) {
  const TemporaryDirectory folder;
  GatedFileSystem files;
  files.open_gate();
  EventWriter events(files, folder.path(), {.flush_seconds = 0.001});
  for (int sync = 1; sync <= 3; ++sync) {
    events.add_summary(1, loss(1));
    files.await_syncs(sync);
  }
}

TEST(EventWriter, SyncsAtTheEnd) {
  const TemporaryDirectory folder;
  GatedFileSystem files;
  files.open_gate();
  EventWriter(files, folder.path()).add_summary(1, loss(1));
  EXPECT_EQ(files.syncs(), 1);
  EXPECT_THAT(summary_steps_in(folder.path()), ElementsAre(1));
}

TEST(EventWriter, LetsCallersWaitWhileTheQueueIsFull) {
  const TemporaryDirectory folder;
  GatedFileSystem files;
  EventWriter events(files, folder.path(), {.max_queued_bytes = 10'000});
  const auto histogram = [](size_t bytes) {
    return std::vector<SummaryValue>{{"x", HistogramSummary{std::vector<float>(bytes / 4)}}};
  };
  events.add_summary(1, histogram(50'000));  // a single event may exceed the limit
  auto second = std::async(std::launch::async, [&] { events.add_summary(2, histogram(4)); });
  EXPECT_EQ(second.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  files.open_gate();
  second.get();
  events.flush();
  EXPECT_THAT(summary_steps_in(folder.path()), ElementsAre(1, 2));
}

// If the disk is full, the failure is thrown once, at most one event is lost, and the other events
// are written to a new file.
TEST(EventWriter, TellsOfEachFailureOnceAndGoesOnInANewFile) {
  std::set<std::string> met;
  for (uint64_t n = 1;; ++n) {
    const TemporaryDirectory folder;
    FaultyFileSystem files(posix_file_system());
    files.fail_call(n, FaultyFileSystem::Fault::error, ENOSPC);
    int failures = 0;
    {
      EventWriter events(files, folder.path());
      for (uint64_t step = 1; step <= 4; ++step) {
        events.add_summary(step, loss(1));
        try {
          events.flush();
        } catch (const Error& error) {
          EXPECT_EQ(error.kind(), ErrorKind::no_space);
          ++failures;
        }
      }
    }
    const std::string call = files.failed_call().substr(0, files.failed_call().find(' '));
    const std::vector<int64_t> steps = summary_steps_in(folder.path());
    EXPECT_TRUE(std::ranges::is_sorted(steps)) << files.failed_call();
    if (call.empty() || call == "close") {
      EXPECT_EQ(failures, 0);
      EXPECT_THAT(steps, ElementsAre(1, 2, 3, 4));
    } else {
      EXPECT_EQ(failures, 1) << files.failed_call();
      EXPECT_EQ(steps.size(), call == "sync" ? 4u : 3u) << files.failed_call();
    }
    if (call.empty()) break;
    met.insert(call);
  }
  EXPECT_THAT(met, testing::IsSupersetOf({"create", "write", "sync"}));
}

// Events queued behind the failure are not lost; the event of the throwing call is not added.
TEST(EventWriter, ThrowsAtTheNextCallOfAnyKind) {
  for (const bool by_flush : {false, true}) {
    const TemporaryDirectory folder;
    FaultyFileSystem files(posix_file_system());
    files.fail_call(1, FaultyFileSystem::Fault::no_memory, 0);
    EventWriter events(files, folder.path());
    events.add_summary(1, loss(1));
    if (by_flush) {
      EXPECT_THROW(events.flush(), std::bad_alloc);
    } else {
      uint64_t step = 2;
      EXPECT_THROW(for (;; ++step) events.add_summary(step, loss(1)), std::bad_alloc);
    }
    events.add_summary(1'000'000, loss(1));
    events.flush();
    const std::vector<int64_t> steps = summary_steps_in(folder.path());
    ASSERT_FALSE(steps.empty());
    EXPECT_EQ(steps.back(), 1'000'000);
    EXPECT_THAT(steps, testing::Not(testing::Contains(1)));
    for (size_t i = 0; i + 1 < steps.size(); ++i) EXPECT_EQ(steps[i], static_cast<int64_t>(i) + 2);
  }
}

TEST(EventWriter, EndsInPeaceAfterAFailureNobodyAskedFor) {
  const TemporaryDirectory folder;
  write_file(folder / "file", "");
  EventWriter events(posix_file_system(), folder / "file/run");
  events.add_summary(1, loss(1));
}

// An event that can't be encoded doesn't damage the file.
TEST(EventWriter, KeepsItsFileWhenAnEventCannotBeEncoded) {
  const TemporaryDirectory folder;
  EventWriter events(posix_file_system(), folder.path());
  ImageBatch batch;
  batch.reset({.height = 1, .width = 1, .channels = 5, .dtype = DType::uint8}, 1);
  events.add_summary(1, loss(1));
  events.add_summary(2, {{"x", summarize_images(batch)}});
  EXPECT_EQ(error_of([&] { events.flush(); }).kind(), ErrorKind::invalid_argument);
  events.add_summary(3, loss(1));
  events.flush();
  EXPECT_EQ(posix_file_system().list(folder.path()).size(), 1u);
  EXPECT_THAT(summary_steps_in(folder.path()), ElementsAre(1, 3));
}

// The failure must outlive the next sync, which is due before the next call.
TEST(EventWriter, KeepsAFailureUntilItHasBeenTold) {
  const TemporaryDirectory folder;
  EventWriter events(posix_file_system(), folder.path(), {.flush_seconds = 0.001});
  ImageBatch batch;
  batch.reset({.height = 1, .width = 1, .channels = 5, .dtype = DType::uint8}, 1);
  for (uint64_t step = 1; step <= 10; ++step) {
    events.add_summary(step, loss(1));
    events.add_summary(step, {{"x", summarize_images(batch)}});
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_THROW(events.flush(), Error);
    events.flush();
    EXPECT_EQ(summary_steps_in(folder.path()).size(), step);
  }
}

TEST(EventWriter, TakesEventsFromSeveralThreads) {
  const TemporaryDirectory folder;
  {
    EventWriter events(posix_file_system(), folder.path(), {.max_queued_bytes = 1000});
    std::vector<std::jthread> threads;
    for (uint64_t thread = 0; thread < 4; ++thread)
      threads.emplace_back([&, thread] {
        for (uint64_t i = 0; i < 50; ++i) events.add_summary(100 * thread + i, loss(1));
        events.flush();
      });
  }
  const std::vector<int64_t> steps = summary_steps_in(folder.path());
  EXPECT_EQ(std::set(steps.begin(), steps.end()).size(), 200u);
}

TEST(EventWriter, RefusesAnIntervalThatIsNone) {
  for (const double seconds : {-1.0, 1e300, std::numeric_limits<double>::quiet_NaN()}) {
    const auto make = [&] { EventWriter(posix_file_system(), "x", {.flush_seconds = seconds}); };
    EXPECT_EQ(error_of(make).kind(), ErrorKind::invalid_argument);
  }
}

}  // namespace
}  // namespace recordpipe
