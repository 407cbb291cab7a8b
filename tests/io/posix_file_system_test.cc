// Tests the operating system's files behind the FileSystem interface.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recordpipe/io/atomic_file.h"
#include "recordpipe/io/file.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"
#include "tests/support/single_file_system.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class PosixFileSystem : public testing::Test {
 protected:
  TemporaryDirectory directory;
  const std::string path = directory / "a";
  FileSystem& files = posix_file_system();

  std::string make_fifo() {
    const std::string fifo = directory / "fifo";
    EXPECT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    return fifo;
  }
};

std::string read_to_end(ByteSource& source) { return as_text(read_all(source, 1u << 30)); }

TEST_F(PosixFileSystem, ReadsWhatWasWritten) {
  auto out = files.create(path, CreateMode::truncate);
  out->write(as_bytes("one "));
  out->write(as_bytes("two"));
  out->sync();
  out->close();
  EXPECT_EQ(read_to_end(*files.open_source(path)), "one two");

  const auto random = files.open_random(path);
  EXPECT_EQ(random->size(), 7u);
  std::string part(3, '\0');
  EXPECT_EQ(random->read_at(4, std::as_writable_bytes(std::span(part))), 3u);
  EXPECT_EQ(part, "two");
  EXPECT_EQ(random->read_at(6, std::as_writable_bytes(std::span(part))), 1u);
  EXPECT_EQ(random->read_at(7, std::as_writable_bytes(std::span(part))), 0u);

  EXPECT_EQ(as_text(files.map(path)->bytes()), "one two");
}

TEST_F(PosixFileSystem, CreateEmptiesOrAppends) {
  write_file(path, "old");
  files.create(path, CreateMode::append)->write(as_bytes(" and new"));
  EXPECT_EQ(read_file(path), "old and new");
  files.create(path, CreateMode::truncate)->write(as_bytes("new"));
  EXPECT_EQ(read_file(path), "new");
}

// ext4 writes a file to the disk when it is closed if it was truncated, even if it was empty: that
// takes most of the time of creating thousands of small files.
TEST_F(PosixFileSystem, AnEmptyFileIsNotTruncated) {
  for (const bool is_empty : {true, false}) {
    write_file(path, is_empty ? "" : "old");
    const auto long_ago = std::filesystem::last_write_time(path) - std::chrono::hours(1);
    std::filesystem::last_write_time(path, long_ago);
    files.create(path, CreateMode::truncate)->close();
    EXPECT_EQ(read_file(path), "");
    EXPECT_EQ(std::filesystem::last_write_time(path) == long_ago, is_empty);
  }
}

TEST_F(PosixFileSystem, DirectoriesAreRefused) {
  const std::string folder = directory.path();
  for (const auto& open : std::initializer_list<std::function<void()>>{
           [&] { files.open_source(folder); }, [&] { files.open_random(folder); },
           [&] { files.map(folder); }, [&] { files.create(folder, CreateMode::truncate); }}) {
    const Error error = error_of(open);
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    EXPECT_EQ(error.path(), folder);
    EXPECT_THAT(error.what(), HasSubstr("Is a directory"));
  }
}

TEST_F(PosixFileSystem, MissingFilesAndDanglingLinksAreNotFound) {
  std::filesystem::create_symlink(directory / "nowhere", directory / "link");
  std::filesystem::create_symlink("loop", directory / "loop");
  EXPECT_FALSE(files.status(directory / "loop"));
  for (const std::string& name : {directory / "missing", directory / "link", path + "/below"}) {
    EXPECT_EQ(error_of([&] { files.open_source(name); }).kind(), ErrorKind::not_found);
    EXPECT_EQ(error_of([&] { files.open_random(name); }).kind(), ErrorKind::not_found);
    EXPECT_EQ(error_of([&] { files.map(name); }).kind(), ErrorKind::not_found);
    EXPECT_FALSE(files.status(name));
  }
}

TEST_F(PosixFileSystem, DevicesAreSourcesOnly) {
  std::vector<std::byte> zeros(100000, std::byte{1});
  EXPECT_EQ(files.open_source("/dev/zero")->read(zeros), zeros.size());
  EXPECT_EQ(zeros, std::vector<std::byte>(zeros.size()));
  EXPECT_EQ(error_of([&] { files.open_random("/dev/zero"); }).kind(), ErrorKind::unsupported);
  EXPECT_EQ(error_of([&] { files.map("/dev/zero"); }).kind(), ErrorKind::unsupported);
}

// Without a writer, the calls in the second half must not block.
TEST_F(PosixFileSystem, FifosAreSourcesOnly) {
  const std::string fifo = make_fifo();
  std::thread writer([&] {
    const auto out = files.create(fifo, CreateMode::append);
    for (int i = 0; i < 1000; ++i) out->write(as_bytes("abc"));
  });
  const auto source = files.open_source(fifo);
  std::string content(2999, '\0');
  EXPECT_EQ(read_fully(*source, std::as_writable_bytes(std::span(content))), 2999u);
  EXPECT_EQ(read_to_end(*source), "c");
  EXPECT_EQ(source->read(std::as_writable_bytes(std::span(content))), 0u);
  writer.join();
  EXPECT_EQ(error_of([&] { files.open_random(fifo); }).kind(), ErrorKind::unsupported);
  EXPECT_EQ(error_of([&] { files.map(fifo); }).kind(), ErrorKind::unsupported);
  EXPECT_EQ(error_of([&] { files.lock(fifo); }).kind(), ErrorKind::unsupported);
}

// Continuously sends two threads a signal that interrupts system calls.
class Interruptions {
 public:
  Interruptions(pthread_t one, pthread_t other) {
    struct sigaction action = {};
    action.sa_handler = [](int) {};  // without SA_RESTART
    EXPECT_EQ(::sigaction(SIGUSR1, &action, &before_), 0);
    sender_ = std::thread([this, one, other] {
      while (!stop_) {
        ::pthread_kill(one, SIGUSR1);
        ::pthread_kill(other, SIGUSR1);
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    });
  }
  ~Interruptions() {
    stop_ = true;
    sender_.join();
    ::sigaction(SIGUSR1, &before_, nullptr);
  }

 private:
  struct sigaction before_ = {};
  std::atomic<bool> stop_ = false;
  std::thread sender_;
};

// The two ends of a pipe wait for each other in open, read and write while signals arrive, so that
// calls are interrupted and transfers are short.
TEST_F(PosixFileSystem, InterruptedCallsAndShortTransfersDoNotShow) {
  const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
  std::string content(1 << 20, '\0');
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 2654435761u >> 13);
  const std::string fifo = make_fifo();
  std::atomic<bool> start = false;
  std::thread writer([&] {
    while (!start) std::this_thread::yield();
    pause();  // the reader waits in open
    const auto out = files.create(fifo, CreateMode::append);
    pause();  // the reader waits in read
    out->write(as_bytes(content).first(1000));
    pause();  // the reader has part of its data
    out->write(as_bytes(content).subspan(1000));
  });
  std::string received(content.size(), '\0');
  size_t count = 0;
  {
    const Interruptions interruptions(::pthread_self(), writer.native_handle());
    start = true;
    const auto source = files.open_source(fifo);
    const auto out = std::as_writable_bytes(std::span(received));
    count = read_fully(*source, out.first(100000));
    pause();  // the writer waits: the pipe is full
    EXPECT_EQ(count, 100000u);
    count += read_fully(*source, out.subspan(100000));
  }
  writer.join();
  EXPECT_EQ(count, content.size());
  EXPECT_TRUE(received == content);
}

TEST_F(PosixFileSystem, AFullDiskIsNoSpace) {
  const auto out = files.create("/dev/full", CreateMode::append);
  const Error error = error_of([&] { out->write(as_bytes("x")); });
  EXPECT_EQ(error.kind(), ErrorKind::no_space);
  EXPECT_NE(error.hint(), "");
}

// Runs in a separate process, because the limit can't be raised again.
TEST_F(PosixFileSystem, AFileSizeLimitIsNoSpaceAndNoFileStays) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {100000, 100000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      AtomicFile(files, path).write(as_bytes(std::string(200000, 'x')));
    } catch (const Error& error) {
      ::_exit(error.kind() == ErrorKind::no_space ? 0 : 2);
    }
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_THAT(files.list(directory.path()), IsEmpty());
}

TEST_F(PosixFileSystem, RunningOutOfDescriptorsIsAnErrorWithAHintAndLeaksNone) {
#ifdef RECORDPIPE_SANITIZED
  GTEST_SKIP() << "UndefinedBehaviorSanitizer's vptr check opens a pipe and fails without it";
#endif
  const std::string here = directory / "here";
  write_file(here, "content");
  const auto lowest_free = [] {
    const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::close(fd);
    return fd;
  };
  const int free_before = lowest_free();
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = static_cast<rlim_t>(free_before);
  const std::function<void()> actions[] = {
      [&] { files.open_source(here); }, [&] { files.map(here); }, [&] { AtomicFile(files, path); }};
  for (const auto& action : actions) {
    action();  // a first run with descriptors: on the first use of a type, UBSan opens a pipe
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
    const Error error = error_of(action);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_THAT(error.hint(), HasSubstr("ulimit"));
    EXPECT_EQ(lowest_free(), free_before);
  }
}

TEST_F(PosixFileSystem, DescriptorsAreNotInherited) {
  write_file(path, "content");
  const auto source = files.open_source(path);
  const auto random = files.open_random(path);
  const auto output = files.create(path, CreateMode::append);
  const auto lock = files.lock(path);
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // for the descriptor of the iteration itself
    if (std::filesystem::read_symlink(entry, gone) != std::filesystem::canonical(path)) continue;
    ++found;
    const int fd = std::atoi(entry.path().filename().c_str());
    EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
  }
  EXPECT_EQ(found, 4);
}

TEST_F(PosixFileSystem, PathsWithANewlineOrThatAreNotUtf8Work) {
  for (const char* name : {"new\nline",
                           "not\xff"
                           "utf8"}) {
    const std::string odd = directory / name;
    EXPECT_EQ(std::string(error_of([&] { files.open_source(odd); }).what()).find('\n'),
              std::string::npos);
    AtomicFile file(files, odd);
    file.write(as_bytes("x"));
    file.commit();
    EXPECT_EQ(read_to_end(*files.open_source(odd)), "x");
  }
}

TEST_F(PosixFileSystem, ListsFoldersSorted) {
  for (const char* name : {"b", ".hidden", "a", "c"}) write_file(directory / name, "");
  EXPECT_THAT(files.list(directory.path()), ElementsAre(".hidden", "a", "b", "c"));
  EXPECT_EQ(files.FileSystem::list(directory.path()), files.list(directory.path()));  // the default
  EXPECT_EQ(error_of([&] { files.list(directory / "missing"); }).kind(), ErrorKind::not_found);
  EXPECT_EQ(error_of([&] { files.list_entries(directory / "missing"); }).kind(),
            ErrorKind::not_found);
}

// Has the default implementations of list_entries() and is_directory().
class DefaultEntries final : public SingleFileSystem {
 public:
  DefaultEntries() : SingleFileSystem("") {}
  std::vector<std::string> list(const std::string& path) override {
    return posix_file_system().list(path);
  }
  std::optional<FileStatus> status(const std::string& path) override {
    return posix_file_system().status(path);
  }
  std::string resolve_link(const std::string& path) override {
    return posix_file_system().resolve_link(path);
  }
};

TEST_F(PosixFileSystem, ListsEntriesWithTheirKinds) {
  write_file(path, "abc");
  files.make_directories(directory / "folder");
  make_fifo();
  std::filesystem::create_symlink("a", directory / "link");
  std::filesystem::create_symlink("folder", directory / "link_folder");
  std::filesystem::create_symlink("missing", directory / "link_nowhere");
  std::filesystem::create_symlink("loop", directory / "loop");
  struct Expected {
    std::string name;
    FileKind kind;
    bool is_link;
  };
  const std::vector<Expected> expected = {{"a", FileKind::regular, false},
                                          {"fifo", FileKind::other, false},
                                          {"folder", FileKind::directory, false},
                                          {"link", FileKind::regular, true},
                                          {"link_folder", FileKind::directory, true},
                                          {"link_nowhere", FileKind::other, true}};
  const auto check = [&](FileSystem& file_system, size_t count) {
    const auto entries = file_system.list_entries(directory.path());
    ASSERT_GE(entries.size(), count);
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(entries[i].name, expected[i].name);
      EXPECT_EQ(entries[i].kind, expected[i].kind) << expected[i].name;
      EXPECT_EQ(entries[i].is_link, expected[i].is_link) << expected[i].name;
      if (entries[i].size && entries[i].kind == FileKind::regular) {
        EXPECT_EQ(*entries[i].size, 3U) << expected[i].name;
      }
    }
    EXPECT_EQ(regular_file_size(file_system, path), 3u);
    EXPECT_EQ(regular_file_size(file_system, directory / "fifo"), std::nullopt);
    EXPECT_EQ(regular_file_size(file_system, directory / "missing"), std::nullopt);
    EXPECT_TRUE(file_system.is_directory(directory / "link_folder"));
    EXPECT_FALSE(file_system.is_directory(path));
    EXPECT_FALSE(file_system.is_directory(directory / "missing"));
  };
  check(files, 7);
  // The status of a link to itself is an error.
  std::filesystem::remove(directory / "loop");
  DefaultEntries defaults;
  check(defaults, 6);
}

TEST_F(PosixFileSystem, ANameThatIsTooLongIsNoFile) {
  EXPECT_FALSE(files.status(directory / std::string(300, 'x')));
  EXPECT_FALSE(files.status("/" + std::string(5000, 'x')));
}

TEST_F(PosixFileSystem, MakesRenamesAndRemoves) {
  files.make_directories(directory / "x/y/z");
  files.make_directories(directory / "x/y/z");
  EXPECT_EQ(files.status(directory / "x/y/z")->kind, FileKind::directory);
  write_file(path, "content");
  EXPECT_EQ(error_of([&] { files.make_directories(path + "/below"); }).path(), path + "/below");
  files.rename(path, directory / "x/b");
  EXPECT_FALSE(files.status(path));
  EXPECT_EQ(files.status(directory / "x/b")->size, 7u);
  files.sync_directory(directory / "x");
  files.remove(directory / "x/b");
  files.remove(directory / "x/b");
  EXPECT_FALSE(files.status(directory / "x/b"));
  EXPECT_EQ(files.status("/dev/null")->kind, FileKind::other);
}

TEST_F(PosixFileSystem, RemovesEmptyFoldersOnly) {
  files.make_directories(directory / "empty");
  files.make_directories(directory / "full/inner");
  std::filesystem::create_symlink("empty", directory / "link");
  write_file(directory / "file", "");
  for (const std::string name : {"file", "full", "link", "empty", "empty"}) {
    files.remove_empty_directory(directory / name);
  }
  EXPECT_THAT(files.list(directory.path()), ElementsAre("file", "full", "link"));
}

TEST_F(PosixFileSystem, ALockExcludesOthersUntilItIsDestroyed) {
  auto first = files.lock(path);
  EXPECT_EQ(error_of([&] { files.lock(path); }).kind(), ErrorKind::busy);
  first.reset();
  EXPECT_NO_THROW(files.lock(path));
}

// The holder of a lock removes or renames the lock file, as AtomicFile does. A process that opened
// the lock file before must not mistake it for the current one.
TEST_F(PosixFileSystem, ALockOnARemovedFileIsNoLock) {
  std::atomic<int> holders = 0;
  std::atomic<int> most = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 3000; ++i) {
        std::unique_ptr<FileLock> lock;
        try {
          lock = files.lock(path);
        } catch (const Error& error) {
          if (error.kind() != ErrorKind::busy) throw;
          continue;
        }
        most = std::max<int>(most, ++holders);
        std::this_thread::yield();
        --holders;
        files.remove(path);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
}

TEST_F(PosixFileSystem, ALockKnowsWhetherItsFileWasReplaced) {
  const auto lock = files.lock(path);
  EXPECT_TRUE(lock->holds_its_name());
  files.remove(path);
  EXPECT_FALSE(lock->holds_its_name());
  const auto others = files.lock(path);
  EXPECT_FALSE(lock->holds_its_name());
  EXPECT_TRUE(others->holds_its_name());
}

// A lock is released when its process dies.
TEST_F(PosixFileSystem, ALockDiesWithItsProcess) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = files.lock(path);
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_NO_THROW(files.lock(path));
}

TEST(ParentDirectory, OfAnyPath) {
  EXPECT_EQ(parent_directory("a"), ".");
  EXPECT_EQ(parent_directory("/a"), "/");
  EXPECT_EQ(parent_directory("a/b"), "a");
  EXPECT_EQ(parent_directory("/a/b/c"), "/a/b");
}

TEST(ReadAll, StopsAtItsLimit) {
  MemorySource exact(std::string(3 << 20, 'x'));
  EXPECT_EQ(read_all(exact, 3 << 20).size(), 3u << 20);
  MemorySource longer(std::string((3 << 20) + 1, 'x'));
  EXPECT_EQ(error_of([&] { read_all(longer, 3 << 20); }).kind(), ErrorKind::limit_exceeded);
  MemorySource empty("");
  EXPECT_TRUE(read_all(empty, 0).empty());
  const auto endless = posix_file_system().open_source("/dev/zero");
  EXPECT_EQ(error_of([&] { read_all(*endless, 100); }).kind(), ErrorKind::limit_exceeded);
}

}  // namespace
}  // namespace recordpipe
