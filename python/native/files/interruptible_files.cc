#include "python/native/files/interruptible_files.h"

#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "python/native/files/python_file.h"
#include "python/native/files/upload_in_parts.h"
#include "python/native/interpreter/background_call.h"
#include "python/native/interpreter/gil.h"
#include "python/native/interpreter/interrupt.h"
#include "recordpipe/base/internal/call_stop.h"
#include "recordpipe/base/internal/url_path.h"
#include "recordpipe/io/routed_file_system.h"

namespace recordpipe::python {
namespace {

// Calls function(), which may wait for a server, without the GIL. On the main thread, what the
// handler of a signal raises ends it, and is thrown as a PythonFileError.
template <class Function>
auto ask(const std::string& path, const Function& function) {
  if (is_url(path) && on_main_thread() && !internal::call_stop.stop_possible()) {
    return call(path, [&] {
      return interruptible([&](std::stop_token stop) {
        const internal::CallStopScope scope(std::move(stop));
        return function();
      });
    });
  }
  std::optional<GilRelease> no_gil;
  if (holds_gil()) no_gil.emplace();
  return function();
}

// Calls function(), which waits for a server, so that the main thread runs the handlers of signals
// meanwhile. What a handler raises stops `stop`, and is thrown as a PythonFileError.
template <class Function>
void call_beside_signals(const std::string& path, std::stop_source& stop,
                         const Function& function) {
  call(path, [&] {
    call_in_background([&](const std::stop_token& raised) {
      const std::stop_callback relay(raised, [&] { stop.request_stop(); });
      function();
    });
  });
}

// An upload to a URL that the main thread writes.
class InterruptibleUpload final : public UploadInParts {
 public:
  InterruptibleUpload(FileSystem& files, std::string path) : path_(std::move(path)) {
    call_beside_signals(path_, stop_, [&] {
      const internal::CallStopScope scope(stop_.get_token());
      upload_ = files.begin_upload(path_);
    });
  }
  ~InterruptibleUpload() override {
    std::optional<GilRelease> no_gil;
    if (holds_gil()) no_gil.emplace();
    upload_.reset();
  }

  void finish() override {
    send_rest();
    call_beside_signals(path_, stop_, [this] { upload_->finish(); });
  }
  void commit() override {
    send_rest();
    call_beside_signals(path_, stop_, [this] { upload_->commit(); });
  }

 private:
  void pass_on(std::span<const std::byte> part) override {
    call_beside_signals(path_, stop_, [&] { upload_->write(part); });
  }

  const std::string path_;
  std::stop_source stop_;
  std::unique_ptr<Upload> upload_;
};

class InterruptibleFiles final : public RoutedFileSystem {
 public:
  explicit InterruptibleFiles(FileSystem& files) : RoutedFileSystem(files), files_(files) {}

  std::unique_ptr<ByteSource> open_source(const std::string& path) override {
    return ask(path, [&] { return files_.open_source(path); });
  }
  std::unique_ptr<RandomAccessFile> open_random(const std::string& path) override {
    return ask(path, [&] { return files_.open_random(path); });
  }
  std::unique_ptr<OutputFile> create(const std::string& path, CreateMode mode) override {
    if (!is_object_url(path)) return files_.create(path, mode);
    return upload_of(*this, path, mode);
  }
  std::unique_ptr<Upload> begin_upload(const std::string& path) override {
    if (is_object_url(path) && on_main_thread()) {
      return std::make_unique<InterruptibleUpload>(files_, path);
    }
    return ask(path, [&] { return files_.begin_upload(path); });
  }
  std::optional<FileStatus> status(const std::string& path) override {
    return ask(path, [&] { return files_.status(path); });
  }
  std::vector<std::string> list(const std::string& directory) override {
    return ask(directory, [&] { return files_.list(directory); });
  }
  std::vector<DirectoryEntry> list_entries(const std::string& directory) override {
    return ask(directory, [&] { return files_.list_entries(directory); });
  }
  std::vector<DirectoryEntry> list_entries_with_prefix(const std::string& directory,
                                                       std::string_view prefix) override {
    return ask(directory, [&] { return files_.list_entries_with_prefix(directory, prefix); });
  }
  void remove(const std::string& path) override {
    ask(path, [&] { files_.remove(path); });
  }

 private:
  FileSystem& files_;
};

}  // namespace

FileSystem& interruptible_files(FileSystem& files) { return *new InterruptibleFiles(files); }

}  // namespace recordpipe::python
