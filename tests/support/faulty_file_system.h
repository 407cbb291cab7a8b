// Implements a file system whose nth call fails or kills the process.
//
//     for_every_fault(posix_file_system(), EIO,
//                     [&](FileSystem& files) { convert(files, archive, target); },
//                     [&](const FaultyFileSystem& files) { check what is at target; });
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "recordpipe/io/file.h"

namespace recordpipe {

// Counts every call, including the calls of the files that it opens (read, read_at, write,
// copy_permissions, sync, close), and forwards it to another file system, but for syncs: these are
// only noted, so that no test waits for a disk. Thread-safe.
class FaultyFileSystem final : public FileSystem {
 public:
  enum class Fault {
    error,       // the call throws the Error of an errno; a write first stores half of its data
    no_memory,   // the call throws std::bad_alloc
    kill,        // SIGKILL instead of the call (in a write: after half of the data)
    power_loss,  // like kill, and unsynced data is lost
  };

  explicit FaultyFileSystem(FileSystem& base) : base_(base) {}

  // The nth call from the start (n = 1: the first) gets `fault`; `code` is the errno of
  // Fault::error.
  void fail_call(uint64_t n, Fault fault, int code);

  uint64_t calls() const;
  // The bytes that were read from sources and by random access; not those of mapped files.
  uint64_t bytes_read() const { return bytes_read_; }
  // The failed call, for example "rename .a.partial"; empty if none has failed.
  std::string failed_call() const;

  std::unique_ptr<ByteSource> open_source(const std::string& path) override;
  std::unique_ptr<RandomAccessFile> open_random(const std::string& path) override;
  std::unique_ptr<MappedFile> map(const std::string& path) override;
  std::unique_ptr<OutputFile> create(const std::string& path, CreateMode mode) override;
  std::optional<FileStatus> status(const std::string& path) override;
  std::string resolve_link(const std::string& path) override;
  std::vector<std::string> list(const std::string& directory) override;
  std::vector<DirectoryEntry> list_entries(const std::string& directory) override;
  bool is_directory(const std::string& path) override;
  void make_directories(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  void remove(const std::string& path) override;
  void remove_empty_directory(const std::string& path) override;
  void sync_directory(const std::string& path) override;
  std::unique_ptr<FileLock> lock(const std::string& path) override;

 private:
  class Source;
  class Random;
  class Output;

  // Counts a call; if it is the one to fail, runs `halfway` and fails.
  void enter(const char* call, const std::string& path,
             const std::function<void()>& halfway = nullptr);
  void drop_what_was_not_synced();

  FileSystem& base_;
  mutable std::mutex mutex_;
  std::atomic<uint64_t> bytes_read_ = 0;
  uint64_t calls_ = 0;
  uint64_t fault_at_ = 0;  // 0: never
  Fault fault_ = Fault::error;
  int code_ = 0;
  std::string failed_call_;
  // The number of synced bytes of each file that was written and not removed, by its current name.
  std::map<std::string, uint64_t> synced_;
};

// Runs `action` with a fault in its first call, then in its second call, and so on until it
// completes without reaching the fault; that run must not throw. Calls `reset` (to restore the
// initial state) before every run, and `check` after it. An action that reaches the fault must
// throw, unless failures of that call may be ignored (`may_ignore`, for example "remove"). Returns
// the number of runs. Failures are reported through GoogleTest.
uint64_t for_every_fault(
    FileSystem& base, int code, const std::function<void(FileSystem&)>& action,
    const std::function<void(const FaultyFileSystem&)>& check,
    const std::function<void()>& reset = [] {}, const std::vector<std::string>& may_ignore = {});

// Like for_every_fault(), but kills the process: each run is a separate child process.
uint64_t for_every_kill(
    FileSystem& base, FaultyFileSystem::Fault fault, const std::function<void(FileSystem&)>& action,
    const std::function<void()>& check, const std::function<void()>& reset = [] {});

}  // namespace recordpipe
