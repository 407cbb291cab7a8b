// A file system whose nth call fails, or during whose nth call the process dies.
//
//     for_every_fault(posix_file_system(), EIO,
//                     [&](FileSystem& files) { convert(files, archive, target); },
//                     [&](const FaultyFileSystem& files) { check what is at target; });
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "recordpipe/file.h"

namespace recordpipe {

// Counts every call, those of the files it opens too (read, read_at, write, copy_permissions,
// sync, close), and
// passes it on to another file system. Safe to use from several threads.
class FaultyFileSystem final : public FileSystem {
 public:
  enum class Fault {
    error,       // the call throws the Error of an errno; a write puts half of its data there first
    no_memory,   // the call throws std::bad_alloc
    kill,        // SIGKILL instead of the call (or in the middle of it: half of a write is done)
    power_loss,  // the same, and what was written but not synced is gone
  };

  explicit FaultyFileSystem(FileSystem& base) : base_(base) {}

  // The nth call from the start (n = 1: the first) meets `fault`; `code` counts for errors.
  void fail_call(uint64_t n, Fault fault, int code);

  uint64_t calls() const;
  // The call that failed, "rename .a.partial", say; empty where none has.
  std::string failed_call() const;

  std::unique_ptr<ByteSource> open_source(const std::string& path) override;
  std::unique_ptr<RandomAccessFile> open_random(const std::string& path) override;
  std::unique_ptr<MappedFile> map(const std::string& path) override;
  std::unique_ptr<OutputFile> create(const std::string& path, CreateMode mode) override;
  std::optional<FileStatus> status(const std::string& path) override;
  std::string resolve_link(const std::string& path) override;
  std::vector<std::string> list(const std::string& directory) override;
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

  // Counts a call; where it is the one to fail, runs `halfway` and fails.
  void enter(const char* call, const std::string& path,
             const std::function<void()>& halfway = nullptr);
  void drop_what_was_not_synced();

  FileSystem& base_;
  mutable std::mutex mutex_;
  uint64_t calls_ = 0;
  uint64_t fault_at_ = 0;  // 0: never
  Fault fault_ = Fault::error;
  int code_ = 0;
  std::string failed_call_;
  // Bytes that are safe, of each file written and not removed, by its present name.
  std::map<std::string, uint64_t> synced_;
};

// Runs `action` with its first call failing, then with its second, and so on until it gets through
// without meeting the fault; that run must not throw. `check` is called after every run, `reset`
// (to restore what was there) before it. An action that meets the fault must throw, unless the
// fault hit a call whose failure may be ignored (`may_ignore`, "remove", say). Returns the number
// of runs. Failures are reported through GoogleTest.
uint64_t for_every_fault(
    FileSystem& base, int code, const std::function<void(FileSystem&)>& action,
    const std::function<void(const FaultyFileSystem&)>& check,
    const std::function<void()>& reset = [] {}, const std::vector<std::string>& may_ignore = {});

// The same with the process killed: each run is a child process of its own.
uint64_t for_every_kill(
    FileSystem& base, FaultyFileSystem::Fault fault, const std::function<void(FileSystem&)>& action,
    const std::function<void()>& check, const std::function<void()>& reset = [] {});

}  // namespace recordpipe
