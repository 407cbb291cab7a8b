#include "tests/support/faulty_file_system.h"

#include <algorithm>
#include <csignal>
#include <exception>
#include <filesystem>
#include <new>
#include <utility>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recordpipe/base/error.h"

namespace recordpipe {

class FaultyFileSystem::Source final : public ByteSource {
 public:
  Source(FaultyFileSystem& files, std::unique_ptr<ByteSource> base)
      : files_(files), base_(std::move(base)) {}
  size_t read(std::span<std::byte> out) override {
    files_.enter("read", path());
    const size_t size = base_->read(out);
    files_.bytes_read_ += size;
    return size;
  }
  const std::string& path() const override { return base_->path(); }

 private:
  FaultyFileSystem& files_;
  std::unique_ptr<ByteSource> base_;
};

class FaultyFileSystem::Random final : public RandomAccessFile {
 public:
  Random(FaultyFileSystem& files, std::unique_ptr<RandomAccessFile> base)
      : files_(files), base_(std::move(base)) {}
  uint64_t size() const override { return base_->size(); }
  std::span<const std::byte> read(uint64_t offset, size_t size,
                                  std::span<std::byte> scratch) const override {
    files_.enter("read_at", path());
    const auto data = base_->read(offset, size, scratch);
    if (!stable()) files_.bytes_read_ += data.size();
    return data;
  }
  bool stable() const override { return base_->stable(); }
  void hint(uint64_t offset, uint64_t size, ReadHint hint) const override {
    base_->hint(offset, size, hint);
  }
  std::string identity() const override { return base_->identity(); }
  bool damaged() const override { return base_->damaged(); }
  const std::string& path() const override { return base_->path(); }

 private:
  FaultyFileSystem& files_;
  std::unique_ptr<RandomAccessFile> base_;
};

class FaultyFileSystem::Output final : public OutputFile {
 public:
  Output(FaultyFileSystem& files, std::unique_ptr<OutputFile> base, uint64_t size)
      : files_(files), base_(std::move(base)), size_(size) {}
  void write(std::span<const std::byte> data) override {
    files_.enter("write", path(), [&] { base_->write(data.first(data.size() / 2)); });
    base_->write(data);
    size_ += data.size();
  }
  void sync() override {
    files_.enter("sync", path());
    const std::lock_guard lock(files_.mutex_);
    files_.synced_[path()] = size_;
  }
  void copy_permissions(const std::string& from) override {
    files_.enter("copy_permissions", path());
    base_->copy_permissions(from);
  }
  void close() override {
    files_.enter("close", path());
    base_->close();
  }
  const std::string& path() const override { return base_->path(); }

 private:
  FaultyFileSystem& files_;
  std::unique_ptr<OutputFile> base_;
  uint64_t size_;
};

void FaultyFileSystem::fail_call(uint64_t n, Fault fault, int code) {
  const std::lock_guard lock(mutex_);
  fault_at_ = n;
  fault_ = fault;
  code_ = code;
}

uint64_t FaultyFileSystem::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

std::string FaultyFileSystem::failed_call() const {
  const std::lock_guard lock(mutex_);
  return failed_call_;
}

void FaultyFileSystem::enter(const char* call, const std::string& path,
                             const std::function<void()>& halfway) {
  const std::lock_guard lock(mutex_);
  if (++calls_ != fault_at_) return;
  failed_call_ = std::string(call) + " " + std::filesystem::path(path).filename().native();
  if (halfway) halfway();
  if (fault_ == Fault::error) throw system_error(code_, call, path);
  if (fault_ == Fault::no_memory) throw std::bad_alloc();
  if (fault_ == Fault::power_loss) drop_what_was_not_synced();
  std::raise(SIGKILL);
}

void FaultyFileSystem::drop_what_was_not_synced() {
  for (const auto& [path, size] : synced_) {
    std::error_code error;
    if (std::filesystem::file_size(path, error) > size && !error) {
      std::filesystem::resize_file(path, size);
    }
  }
}

std::unique_ptr<ByteSource> FaultyFileSystem::open_source(const std::string& path) {
  enter("open_source", path);
  return std::make_unique<Source>(*this, base_.open_source(path));
}

std::unique_ptr<RandomAccessFile> FaultyFileSystem::open_random(const std::string& path) {
  enter("open_random", path);
  return std::make_unique<Random>(*this, base_.open_random(path));
}

std::unique_ptr<MappedFile> FaultyFileSystem::map(const std::string& path) {
  enter("map", path);
  return base_.map(path);
}

std::unique_ptr<OutputFile> FaultyFileSystem::create(const std::string& path, CreateMode mode) {
  enter("create", path);
  auto file = base_.create(path, mode);
  const std::lock_guard lock(mutex_);
  const uint64_t size = base_.status(path).value_or(FileStatus{}).size;
  synced_[path] = size;  // earlier contents count as synced
  return std::make_unique<Output>(*this, std::move(file), size);
}

std::optional<FileStatus> FaultyFileSystem::status(const std::string& path) {
  enter("status", path);
  return base_.status(path);
}

std::string FaultyFileSystem::resolve_link(const std::string& path) {
  enter("resolve_link", path);
  return base_.resolve_link(path);
}

std::vector<std::string> FaultyFileSystem::list(const std::string& directory) {
  enter("list", directory);
  return base_.list(directory);
}

std::vector<DirectoryEntry> FaultyFileSystem::list_entries(const std::string& directory) {
  enter("list_entries", directory);
  return base_.list_entries(directory);
}

bool FaultyFileSystem::is_directory(const std::string& path) {
  enter("is_directory", path);
  return base_.is_directory(path);
}

void FaultyFileSystem::make_directories(const std::string& path) {
  enter("make_directories", path);
  base_.make_directories(path);
}

void FaultyFileSystem::rename(const std::string& from, const std::string& to) {
  enter("rename", from);
  base_.rename(from, to);
  const std::lock_guard lock(mutex_);
  if (auto node = synced_.extract(from)) synced_.insert_or_assign(to, node.mapped());
}

void FaultyFileSystem::remove(const std::string& path) {
  enter("remove", path);
  base_.remove(path);
  const std::lock_guard lock(mutex_);
  synced_.erase(path);
}

void FaultyFileSystem::remove_empty_directory(const std::string& path) {
  enter("remove_empty_directory", path);
  base_.remove_empty_directory(path);
}

void FaultyFileSystem::sync_directory(const std::string& path) { enter("sync_directory", path); }

std::unique_ptr<FileLock> FaultyFileSystem::lock(const std::string& path) {
  enter("lock", path);
  return base_.lock(path);
}

uint64_t for_every_fault(FileSystem& base, int code, const std::function<void(FileSystem&)>& action,
                         const std::function<void(const FaultyFileSystem&)>& check,
                         const std::function<void()>& reset,
                         const std::vector<std::string>& may_ignore) {
  for (uint64_t n = 1;; ++n) {
    reset();
    FaultyFileSystem files(base);
    files.fail_call(n, FaultyFileSystem::Fault::error, code);
    std::string thrown;
    try {
      action(files);
    } catch (const Error& error) {
      thrown = error.what();
    }
    const std::string failed = files.failed_call();
    SCOPED_TRACE("call " + std::to_string(n) + ": " + failed + ": " + thrown);
    const bool ignorable = std::ranges::any_of(
        may_ignore, [&](const std::string& call) { return failed.starts_with(call + " "); });
    if (failed.empty()) {
      EXPECT_EQ(thrown, "") << "an exception without a fault";
    } else if (!ignorable) {
      EXPECT_NE(thrown, "") << "the failure was swallowed";
    }
    check(files);
    if (failed.empty() || testing::Test::HasFailure()) return n;
  }
}

uint64_t for_every_kill(FileSystem& base, FaultyFileSystem::Fault fault,
                        const std::function<void(FileSystem&)>& action,
                        const std::function<void()>& check, const std::function<void()>& reset) {
  for (uint64_t n = 1;; ++n) {
    reset();
    const pid_t child = ::fork();
    if (child == 0) {
      FaultyFileSystem files(base);
      files.fail_call(n, fault, 0);
      try {
        action(files);
      } catch (...) {
        ::_exit(1);
      }
      ::_exit(0);
    }
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child) {
      ADD_FAILURE() << "fork or waitpid failed";
      return n;
    }
    SCOPED_TRACE("killed at call " + std::to_string(n));
    const bool finished = WIFEXITED(status);
    EXPECT_TRUE(!finished || WEXITSTATUS(status) == 0) << "an exception without a fault";
    check();
    if (finished || testing::Test::HasFailure()) return n;
  }
}

}  // namespace recordpipe
