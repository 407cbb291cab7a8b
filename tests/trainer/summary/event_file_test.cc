#include "recordpipe/trainer/summary/event_file.h"

#include <cerrno>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dataset/example/event_view.h"
#include "recordpipe/base/error.h"
#include "recordpipe/record/record_reader.h"
#include "recordpipe/trainer/summary/event.h"
#include "tests/support/expect_error.h"
#include "tests/support/faulty_file_system.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

std::string event_of_step(uint64_t step) {
  return encode_event(
      {.step = step, .what = std::vector<SummaryValue>{{"loss", ScalarSummary{0.5}}}});
}

// Returns the complete records of a file: "file_version 0", "summary 3", ... Ignores a partial
// record at the end.
std::vector<std::string> events_of(const std::string& path) {
  std::vector<std::string> events;
  RecordReader reader(posix_file_system(), path);
  try {
    while (const auto record = reader.read()) {
      const EventView event = read_event(record->data);
      events.push_back(std::string(event.field) + " " + std::to_string(event.step));
    }
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::truncated);
  }
  return events;
}

std::string of_this_process(const std::string& name) {
  return name + "." + std::to_string(getpid());
}

std::vector<std::string> names_in(const std::string& folder) {
  return posix_file_system().list(folder);
}

TEST(EventFile, BeginsWithTheVersion) {
  const TemporaryDirectory folder;
  EventFile file(posix_file_system(), folder / "new/run", 1234.9, "host");
  EXPECT_EQ(file.path(),
            folder / ("new/run/" + of_this_process("events.out.tfevents.0000001234.host")));
  file.write(event_of_step(7));
  // Visible without another call.
  EXPECT_THAT(events_of(file.path()), ElementsAre("file_version 0", "summary 7"));
}

TEST(EventFile, ComesAfterTheFilesThatAreThere) {
  const TemporaryDirectory folder;
  const auto new_name = [&](double wall_time) {
    const EventFile file(posix_file_system(), folder.path(), wall_time, "host");
    return file.path().substr(folder.path().size() + 1);
  };
  EXPECT_EQ(new_name(1700000000), of_this_process("events.out.tfevents.1700000000.host"));
  EXPECT_EQ(new_name(1700000000), of_this_process("events.out.tfevents.1700000001.host"));
  write_file(folder / "events.out.tfevents.1800000000.another", "");  // a clock that is ahead
  EXPECT_EQ(new_name(1700000005), of_this_process("events.out.tfevents.1800000001.host"));
  for (const char* other : {"events.out.tfevents.", "events.out.tfevents.99999999999999999999.x",
                            "events.out.tfevents.9999999999.x", "graph.9000000000"})
    write_file(folder / other, "");
  EXPECT_EQ(new_name(1900000000), of_this_process("events.out.tfevents.1900000000.host"));
}

// Neither sees the other's file if they start at the same time.
TEST(EventFile, TwoProcessesHaveTwoNames) {
  const TemporaryDirectory child, parent;
  const auto make_in = [](const TemporaryDirectory& folder) {
    const EventFile file(posix_file_system(), folder.path(), 1700000000, "host");
  };
  const pid_t process = fork();
  ASSERT_NE(process, -1);
  if (process == 0) {
    try {
      make_in(child);
      _exit(0);
    } catch (...) {
      _exit(1);
    }
  }
  int status = -1;
  ASSERT_EQ(waitpid(process, &status, 0), process);
  ASSERT_EQ(status, 0);
  make_in(parent);
  ASSERT_THAT(names_in(child.path()), SizeIs(1));
  ASSERT_THAT(names_in(parent.path()), SizeIs(1));
  EXPECT_NE(names_in(child.path()), names_in(parent.path()));
}

// If a write or a folder operation fails, there is an Error and no incomplete file.
TEST(EventFile, LeavesNothingWhereItCannotBeMade) {
  for (uint64_t n = 1;; ++n) {
    const TemporaryDirectory folder;
    FaultyFileSystem files(posix_file_system());
    files.fail_call(n, FaultyFileSystem::Fault::error, ENOSPC);
    const std::string run = folder / "run";
    bool made = true;
    try {
      const EventFile file(files, run, 1, "host");
    } catch (const Error& error) {
      made = false;
      EXPECT_EQ(error.kind(), ErrorKind::no_space) << files.failed_call();
    }
    if (made) {
      EXPECT_GE(n, 5u);
      break;
    }
    if (std::filesystem::exists(run)) {
      EXPECT_THAT(names_in(run), ElementsAre()) << files.failed_call();
    }
  }
}

// The program may be killed at any point, even in the middle of a record.
TEST(EventFile, HoldsWholeRecordsWhereverItWasKilled) {
  const TemporaryDirectory folder;
  const std::string run = folder / "run";
  std::vector<size_t> found;
  for_every_kill(
      posix_file_system(), FaultyFileSystem::Fault::kill,
      [&](FileSystem& files) {
        EventFile file(files, run, 1, "host");
        for (uint64_t step = 1; step <= 3; ++step) file.write(event_of_step(step));
        file.sync();
      },
      [&] {
        if (!std::filesystem::exists(run) || names_in(run).empty()) return;
        const std::vector<std::string> events = events_of(run + "/" + names_in(run).front());
        for (size_t i = 1; i < events.size(); ++i)
          EXPECT_EQ(events[i], "summary " + std::to_string(i));
        found.push_back(events.size());
      },
      [&] { std::filesystem::remove_all(run); });
  EXPECT_TRUE(std::ranges::is_sorted(found));
  EXPECT_EQ(found.front(), 0u);
  EXPECT_EQ(found.back(), 4u);
}

// Synced records survive a power loss.
TEST(EventFile, KeepsWhatWasSynced) {
  const TemporaryDirectory folder;
  const std::string run = folder / "run";
  uint64_t runs = 0;
  for_every_kill(
      posix_file_system(), FaultyFileSystem::Fault::power_loss,
      [&](FileSystem& files) {
        EventFile file(files, run, 1, "host");
        file.write(event_of_step(1));
        file.sync();
        file.write(event_of_step(2));
        write_file(folder / "synced", "");
        file.write(event_of_step(3));
      },
      [&] {
        ++runs;
        if (!std::filesystem::exists(folder / "synced")) return;
        EXPECT_THAT(events_of(run + "/" + names_in(run).front()), testing::Contains("summary 1"));
      },
      [&] {
        std::filesystem::remove_all(run);
        std::filesystem::remove(folder / "synced");
      });
  EXPECT_GE(runs, 8u);
}

}  // namespace
}  // namespace recordpipe
