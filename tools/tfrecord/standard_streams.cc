#include "tools/tfrecord/standard_streams.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "dataset/base/error.h"
#include "dataset/base/stop.h"
#include "dataset/io/posix_descriptor.h"

namespace recordpipe {
namespace {

// A descriptor that poll(2) finds readable once a stop was requested.
class StopEvent {
 public:
  explicit StopEvent(const std::stop_token& stop) : fd_(::eventfd(0, EFD_CLOEXEC)) {
    if (fd_ < 0) throw system_error(errno, "make an eventfd", "");
    on_stop_.emplace(stop, Signal{fd_});
  }
  ~StopEvent() {
    on_stop_.reset();  // it may be running in another thread
    ::close(fd_);
  }
  StopEvent(const StopEvent&) = delete;
  StopEvent& operator=(const StopEvent&) = delete;

  int fd() const { return fd_; }

 private:
  struct Signal {
    int fd;
    void operator()() const noexcept {
      const uint64_t one = 1;
      (void)!::write(fd, &one, sizeof(one));
    }
  };

  const int fd_;
  std::optional<std::stop_callback<Signal>> on_stop_;
};

// Reads what has come; where nothing has, waits for it or for a stop. Doesn't own the descriptor.
class WaitingReader {
 public:
  WaitingReader(int fd, std::stop_token stop) : fd_(fd), stop_(std::move(stop)), stopped_(stop_) {}

  size_t read(std::span<std::byte> out, const std::string& path) {
    while (!ended_) {
      wait(path);
      const ssize_t count = ::read(fd_, out.data(), out.size());
      if (count > 0) return static_cast<size_t>(count);
      if (count == 0) ended_ = true;  // a terminal would go on after its end
      if (count < 0 && errno != EINTR && errno != EAGAIN) throw system_error(errno, "read", path);
    }
    return 0;
  }

 private:
  void wait(const std::string& path) {
    std::array<pollfd, 2> waited = {{{.fd = fd_, .events = POLLIN, .revents = 0},
                                     {.fd = stopped_.fd(), .events = POLLIN, .revents = 0}}};
    if (::poll(waited.data(), waited.size(), -1) < 0 && errno != EINTR) {
      throw system_error(errno, "wait for", path);
    }
    throw_if_stopped(stop_, path);
  }

  const int fd_;
  const std::stop_token stop_;
  StopEvent stopped_;
  bool ended_ = false;
};

class StandardInput final : public ByteSource {
 public:
  explicit StandardInput(std::stop_token stop) : reader_(STDIN_FILENO, std::move(stop)) {}

  size_t read(std::span<std::byte> out) override { return reader_.read(out, path_); }
  const std::string& path() const override { return path_; }

 private:
  const std::string path_ = "standard input";
  WaitingReader reader_;
};

class DeviceSource final : public ByteSource {
 public:
  // O_NONBLOCK: open(2) would wait for a FIFO's writer.
  DeviceSource(const std::string& path, std::stop_token stop)
      : descriptor_(path, O_RDONLY | O_NONBLOCK), reader_(descriptor_.get(), std::move(stop)) {}

  size_t read(std::span<std::byte> out) override { return reader_.read(out, path()); }
  const std::string& path() const override { return descriptor_.path(); }

 private:
  PosixDescriptor descriptor_;
  WaitingReader reader_;
};

void write_all(int fd, std::span<const std::byte> data, const std::string& path) {
  while (!data.empty()) {
    const ssize_t count = ::write(fd, data.data(), data.size());
    if (count >= 0) {
      data = data.subspan(static_cast<size_t>(count));
    } else if (errno == EPIPE) {
      throw std::system_error(errno, std::generic_category(), path);
    } else if (errno != EINTR) {
      throw system_error(errno, "write", path);
    }
  }
}

class StandardOutput final : public ByteSink {
 public:
  void write(std::span<const std::byte> data) override { write_all(STDOUT_FILENO, data, path_); }
  void close() override {}
  const std::string& path() const override { return path_; }

 private:
  const std::string path_ = "standard output";
};

class DeviceSink final : public ByteSink {
 public:
  explicit DeviceSink(const std::string& path) : descriptor_(path, O_WRONLY) {}

  void write(std::span<const std::byte> data) override {
    write_all(descriptor_.get(), data, path());
  }
  void close() override { descriptor_.close(); }
  const std::string& path() const override { return descriptor_.path(); }

 private:
  PosixDescriptor descriptor_;
};

}  // namespace

std::unique_ptr<ByteSource> standard_input(std::stop_token stop) {
  return std::make_unique<StandardInput>(std::move(stop));
}

std::unique_ptr<ByteSource> open_device_source(const std::string& path, std::stop_token stop) {
  return std::make_unique<DeviceSource>(path, std::move(stop));
}

std::unique_ptr<ByteSink> standard_output() { return std::make_unique<StandardOutput>(); }

std::unique_ptr<ByteSink> open_device_sink(const std::string& path) {
  return std::make_unique<DeviceSink>(path);
}

}  // namespace recordpipe
