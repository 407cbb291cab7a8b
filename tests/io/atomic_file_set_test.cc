// Tests sets of files that appear together: all or none, under one lock.
#include "recordpipe/io/atomic_file_set.h"

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recordpipe/base/error.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"
#include "tests/support/faulty_file_system.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::EndsWith;
using testing::IsEmpty;
using testing::Not;

class AtomicFileSetTest : public testing::Test {
 protected:
  TemporaryDirectory directory;
  FileSystem& files = posix_file_system();
  const std::vector<std::string> paths = {directory / "a", directory / "b", directory / "c"};

  std::vector<std::string> names() { return files.list(directory.path()); }

  void write(AtomicFileSet& set) {
    for (const std::string& path : paths) set.begin(path).write(as_bytes("new " + path));
  }
  void write_and_commit(FileSystem& file_system) {
    AtomicFileSet set(file_system);
    write(set);
    set.commit(paths);
  }
  bool is_new(const std::string& path) {
    return std::filesystem::exists(path) && read_file(path) == "new " + path;
  }
  void expect_all_where_the_first_is_new() {
    if (!is_new(paths[0])) return;
    for (const std::string& path : paths) EXPECT_TRUE(is_new(path)) << path;
  }
};

TEST_F(AtomicFileSetTest, AppearWhenAllAreCommitted) {
  write_file(paths[1], "old");
  AtomicFileSet set(files);
  write(set);
  EXPECT_THAT(names(), ElementsAre(".a.partial", ".b.partial", ".c.partial", "b"));
  EXPECT_EQ(read_file(paths[1]), "old");
  set.commit(paths);
  EXPECT_THAT(names(), ElementsAre("a", "b", "c"));
  for (const std::string& path : paths) EXPECT_TRUE(is_new(path));
}

TEST_F(AtomicFileSetTest, UnderOtherNames) {
  AtomicFileSet set(files);
  write(set);
  set.commit(std::vector<std::string>{directory / "x", directory / "y", directory / "z"});
  EXPECT_THAT(names(), ElementsAre("x", "y", "z"));
  EXPECT_EQ(read_file(directory / "z"), "new " + paths[2]);
}

TEST_F(AtomicFileSetTest, AsManyNamesAsFiles) {
  AtomicFileSet set(files);
  write(set);
  const Error error = error_of([&] { set.commit(std::vector<std::string>{directory / "x"}); });
  EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
}

TEST_F(AtomicFileSetTest, NoFilesAtAll) {
  AtomicFileSet(files).commit({});
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(AtomicFileSetTest, DestroyedUncommittedLeavesNothing) {
  write_file(paths[0], "old");
  {
    AtomicFileSet set(files);
    write(set);
  }
  EXPECT_THAT(names(), ElementsAre("a"));
  EXPECT_EQ(read_file(paths[0]), "old");
}

TEST_F(AtomicFileSetTest, ASecondWriterIsRefusedAtItsFirstFile) {
  AtomicFileSet set(files);
  write(set);
  AtomicFileSet second(files);
  EXPECT_EQ(error_of([&] { second.begin(paths[0]); }).kind(), ErrorKind::busy);
  set.commit(paths);
  for (const std::string& path : paths) EXPECT_TRUE(is_new(path));
  AtomicFileSet third(files);  // the lock was released
  third.begin(paths[0]);
}

TEST_F(AtomicFileSetTest, AFileThatAnotherIsWritingAloneIsRefused) {
  AtomicFile alone(files, paths[1]);
  alone.write(as_bytes("new " + paths[1]));
  {
    AtomicFileSet set(files);
    set.begin(paths[0]);
    EXPECT_EQ(error_of([&] { set.begin(paths[1]); }).kind(), ErrorKind::busy);
  }
  EXPECT_THAT(names(), ElementsAre(".b.partial"));
  alone.commit();
  EXPECT_TRUE(is_new(paths[1]));
}

TEST_F(AtomicFileSetTest, MoreFilesThanMayBeOpen) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit = {40, 40};
    ::setrlimit(RLIMIT_NOFILE, &limit);
    try {
      AtomicFileSet set(files);
      std::vector<std::string> many;
      for (int i = 0; i < 200; ++i) {
        many.push_back(directory / std::to_string(i));
        set.begin(many.back()).write(as_bytes("x"));
      }
      set.commit(many);
    } catch (const Error&) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(names().size(), 200u);
}

// Files beside each other, written in turn: more than may be open, so they are paused meanwhile.
TEST_F(AtomicFileSetTest, BesideEachOther) {
  constexpr size_t kFiles = 3 * AtomicFileSet::kMaxOpen;
  std::vector<std::string> many;
  for (size_t i = 0; i < kFiles; ++i) many.push_back(directory / (std::to_string(i)));
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit = {40, 40};
    ::setrlimit(RLIMIT_NOFILE, &limit);
    try {
      AtomicFileSet set(files);
      std::vector<ByteSink*> sinks;
      for (const std::string& path : many) sinks.push_back(&set.begin_beside(path));
      for (const std::string part : {"a", "b", "c"}) {
        for (size_t i = 0; i < kFiles; ++i) {
          if (i == 1 && part == "c") continue;
          sinks[i]->write(as_bytes(part + std::to_string(i)));
        }
        if (part == "b") set.finish(*sinks[1]);
      }
      set.commit(many);
    } catch (const Error&) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(names().size(), kFiles);
  for (size_t i = 0; i < kFiles; ++i) {
    const std::string n = std::to_string(i);
    EXPECT_EQ(read_file(many[i]), "a" + n + "b" + n + (i == 1 ? "" : "c" + n));
  }
}

TEST_F(AtomicFileSetTest, EveryCallFailingBesideEachOther) {
  std::vector<std::string> many;
  for (size_t i = 0; i < AtomicFileSet::kMaxOpen + 2; ++i) {
    many.push_back(directory / std::to_string(i));
  }
  for_every_fault(
      files, EIO,
      [&](FileSystem& file_system) {
        AtomicFileSet set(file_system);
        std::vector<ByteSink*> sinks;
        for (const std::string& path : many) sinks.push_back(&set.begin_beside(path));
        for (ByteSink* sink : sinks) sink->write(as_bytes("x"));
        set.commit(many);
      },
      [&](const FaultyFileSystem& faulty) {
        if (!std::filesystem::exists(many[0])) return;
        for (const std::string& path : many)
          EXPECT_EQ(read_file(path), "x") << faulty.failed_call();
      },
      [&] {
        for (const std::string& name : names()) files.remove(directory / name);
      });
}

// The first file is renamed last: its lock is held while the others are renamed.
TEST_F(AtomicFileSetTest, EveryCallFailing) {
  const uint64_t runs = for_every_fault(
      files, EIO, [&](FileSystem& faulty) { write_and_commit(faulty); },
      [&](const FaultyFileSystem&) {
        EXPECT_THAT(names(), Each(Not(EndsWith(".partial"))));
        expect_all_where_the_first_is_new();
      },
      [&] {
        for (const std::string& path : paths) std::filesystem::remove(path);
      });
  EXPECT_GT(runs, 15u);
}

TEST_F(AtomicFileSetTest, KilledAtEveryCall) {
  for_every_kill(
      files, FaultyFileSystem::Fault::kill, [&](FileSystem& faulty) { write_and_commit(faulty); },
      [&] {
        expect_all_where_the_first_is_new();
        // The next run gets the lock and removes the files of the killed run.
        write_and_commit(files);
        EXPECT_THAT(names(), ElementsAre("a", "b", "c"));
      },
      [&] {
        for (const std::string& path : paths) std::filesystem::remove(path);
      });
}

}  // namespace
}  // namespace recordpipe
