#include "dataset/io/posix_files.h"

#include <cerrno>
#include <exception>

#include <fcntl.h>
#include <unistd.h>

#include "dataset/io/posix_descriptor.h"
#include "recordpipe/error.h"

namespace recordpipe {
namespace {

class PosixSource final : public ByteSource {
 public:
  explicit PosixSource(const std::string& path) : descriptor_(path, O_RDONLY) {}

  size_t read(std::span<std::byte> out) override {
    if (ended_ || out.empty()) return 0;
    while (true) {
      const ssize_t count = ::read(descriptor_.get(), out.data(), out.size());
      if (count >= 0) {
        ended_ = count == 0;  // a terminal could be read after its end
        return static_cast<size_t>(count);
      }
      if (errno != EINTR) throw system_error(errno, "read", descriptor_.path());
    }
  }

  const std::string& path() const override { return descriptor_.path(); }

 private:
  PosixDescriptor descriptor_;
  bool ended_ = false;
};

class PosixRandomAccessFile final : public RandomAccessFile {
 public:
  // O_NONBLOCK: opening a FIFO (which is then rejected) must not wait for its writer.
  explicit PosixRandomAccessFile(const std::string& path)
      : descriptor_(path, O_RDONLY | O_NONBLOCK) {
    descriptor_.require_regular();
    size_ = static_cast<uint64_t>(descriptor_.status().st_size);
  }

  uint64_t size() const override { return size_; }

  size_t read_at(uint64_t offset, std::span<std::byte> out) const override {
    return descriptor_.read_at(offset, out);
  }

  const std::string& path() const override { return descriptor_.path(); }

 private:
  PosixDescriptor descriptor_;
  uint64_t size_ = 0;
};

class PosixOutputFile final : public OutputFile {
 public:
  PosixOutputFile(const std::string& path, CreateMode mode)
      : descriptor_(path, O_WRONLY | O_CREAT | O_NOFOLLOW |
                              (mode == CreateMode::append ? O_APPEND : O_TRUNC)) {}

  void write(std::span<const std::byte> data) override { descriptor_.write_all(data); }
  void sync() override { descriptor_.sync(); }
  void copy_permissions(const std::string& path) override { descriptor_.copy_permissions(path); }
  void close() override { descriptor_.close(); }
  const std::string& path() const override { return descriptor_.path(); }

 private:
  PosixDescriptor descriptor_;
};

}  // namespace

std::unique_ptr<ByteSource> open_posix_source(const std::string& path) {
  return std::make_unique<PosixSource>(path);
}

std::unique_ptr<RandomAccessFile> open_posix_random(const std::string& path) {
  return std::make_unique<PosixRandomAccessFile>(path);
}

std::unique_ptr<OutputFile> create_posix_file(const std::string& path, CreateMode mode) {
  return std::make_unique<PosixOutputFile>(path, mode);
}

}  // namespace recordpipe
