#include "tools/tfrecord/io/standard_streams.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dataset/base/one_line.h"
#include "dataset/io/posix_descriptor.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/stop.h"

namespace recordpipe {
namespace {

// A descriptor that becomes readable for poll(2) after a stop request.
class StopEvent {
 public:
  explicit StopEvent(const std::stop_token& stop) : fd_(::eventfd(0, EFD_CLOEXEC)) {
    if (fd_ < 0) throw system_error(errno, "make an eventfd", "");
    on_stop_.emplace(stop, Signal{fd_});
  }
  ~StopEvent() {
    on_stop_.reset();  // the callback may be running in another thread
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

// Reads the available bytes; if there are none, waits for bytes or for a stop request. Doesn't own
// the descriptor.
class WaitingReader {
 public:
  WaitingReader(int fd, std::stop_token stop) : fd_(fd), stop_(std::move(stop)), stopped_(stop_) {}

  size_t read(std::span<std::byte> out, const std::string& path) {
    while (!ended_) {
      wait(path);
      const ssize_t count = ::read(fd_, out.data(), out.size());
      if (count > 0) return static_cast<size_t>(count);
      if (count == 0) ended_ = true;  // a terminal could be read again after its end of file
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
  // Without O_NONBLOCK, open(2) would wait for a FIFO's writer.
  DeviceSource(const std::string& path, std::stop_token stop)
      : descriptor_(path, O_RDONLY | O_NONBLOCK), reader_(descriptor_.get(), std::move(stop)) {}

  size_t read(std::span<std::byte> out) override { return reader_.read(out, path()); }
  const std::string& path() const override { return descriptor_.path(); }

 private:
  PosixDescriptor descriptor_;
  WaitingReader reader_;
};

// Waits until a non-blocking descriptor accepts data. (O_NONBLOCK belongs to the open file
// description: a shell or ssh that shares the description may have set the flag.)
void wait_until_writable(int fd, const std::string& path) {
  pollfd waited = {.fd = fd, .events = POLLOUT, .revents = 0};
  if (::poll(&waited, 1, -1) < 0 && errno != EINTR) throw system_error(errno, "wait for", path);
}

void write_all(int fd, std::span<const std::byte> data, const std::string& path) {
  while (!data.empty()) {
    const ssize_t count = ::write(fd, data.data(), data.size());
    if (count >= 0) {
      data = data.subspan(static_cast<size_t>(count));
    } else if (errno == EAGAIN) {
      wait_until_writable(fd, path);
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

bool is_fifo(const std::string& path) {
  struct stat info = {};
  return ::stat(path.c_str(), &info) == 0 && S_ISFIFO(info.st_mode);
}

// Like open(2) with O_WRONLY, but responds to stop requests while it waits for a FIFO's reader.
int open_for_writing(const std::string& path, const std::stop_token& stop) {
  while (true) {
    throw_if_stopped(stop, path);
    const int fd = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd >= 0) {
      ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
      return fd;
    }
    if (errno == EINTR) continue;
    if (errno != ENXIO || !is_fifo(path)) throw system_error(errno, "open", path);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

class DeviceSink final : public ByteSink {
 public:
  DeviceSink(const std::string& path, const std::stop_token& stop)
      : path_(path), fd_(open_for_writing(path, stop)) {}
  ~DeviceSink() override {
    if (fd_ >= 0) ::close(fd_);
  }
  DeviceSink(const DeviceSink&) = delete;
  DeviceSink& operator=(const DeviceSink&) = delete;

  void write(std::span<const std::byte> data) override { write_all(fd_, data, path_); }
  void close() override {
    const int fd = std::exchange(fd_, -1);
    if (fd >= 0 && ::close(fd) != 0 && errno != EINTR) throw system_error(errno, "close", path_);
  }
  const std::string& path() const override { return path_; }

 private:
  const std::string path_;
  int fd_;
};

}  // namespace

std::unique_ptr<ByteSource> standard_input(std::stop_token stop) {
  return std::make_unique<StandardInput>(std::move(stop));
}

std::unique_ptr<ByteSource> open_device_source(const std::string& path, std::stop_token stop) {
  return std::make_unique<DeviceSource>(path, std::move(stop));
}

std::unique_ptr<ByteSink> standard_output() { return std::make_unique<StandardOutput>(); }

void print(std::string_view text) { StandardOutput().write(std::as_bytes(std::span(text))); }

void print_line(std::string_view text) { print(one_line(text) + "\n"); }

std::unique_ptr<ByteSink> open_device_sink(const std::string& path, const std::stop_token& stop) {
  return std::make_unique<DeviceSink>(path, stop);
}

}  // namespace recordpipe
