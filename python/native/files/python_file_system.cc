#include "python/native/files/python_file_system.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <stop_token>
#include <utility>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "dataset/io/uploaded_file.h"
#include "python/native/files/file_path.h"
#include "python/native/interpreter/errors.h"
#include "python/native/interpreter/gil.h"
#include "python/native/interpreter/interrupt.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/call_stop.h"
#include "recordpipe/base/internal/url_path.h"
#include "recordpipe/http/file_system.h"
#include "recordpipe/object_store/file_system.h"

namespace recordpipe::python {
namespace {

constexpr size_t kPartSize = size_t{8} << 20;
constexpr uint64_t kBytesInFlight = uint64_t{128} << 20;

// The files of this machine and of URLs. Never destroyed: threads may use it when the process ends.
FileSystem& files_without_python(const std::string& ca_file) {
  const HttpReadOptions options{.http = {.ca_file = ca_file}};
  auto& web = *new HttpFileSystem(posix_file_system(), options);
  return *new ObjectStoreFileSystem(web, {.http = options});
}

[[noreturn]] void refuse(const std::string& path, std::string reason, std::string hint) {
  throw Error({.kind = ErrorKind::unsupported,
               .path = path,
               .reason = std::move(reason),
               .hint = std::move(hint)});
}

FileKind kind_named(const std::string& name) {
  if (name == "file") return FileKind::regular;
  return name == "directory" ? FileKind::directory : FileKind::other;
}

// Calls function() with the GIL. What it raises is a PythonFileError for `path`.
template <class Function>
auto call(const std::string& path, const Function& function) {
  const GilScope gil;
  try {
    return function();
  } catch (nb::python_error& error) {
    throw_file_error(error, path);
  }
}

// The same for a function that owns what it uses; ends when the caller is stopped (call_stop.h),
// even if the function hangs.
template <class Function>
auto call_until_stopped(const std::string& path, Function function) {
  const std::stop_token stop = internal::call_stop;
  if (!stop.stop_possible()) return call(path, function);
  const auto called = [path, function = std::move(function)] { return call(path, function); };
  return std::move(AbandonableCall<decltype(called())>(called).wait(stop));
}

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

bool attribute(const nb::object& object, const char* name) {
  return nb::cast<bool>(nb::getattr(object, name, nb::bool_(false)));
}

PythonFiles files_of(nb::object object) {
  return {.object = std::make_shared<const PythonObject>(object),
          .is_object_store = attribute(object, "is_object_store"),
          .conditional = attribute(object, "reads_are_conditional"),
          .reads_heads = nb::hasattr(object, "read_head")};
}

// Collects what is written, and passes it on in large parts.
class UploadInParts : public Upload {
 public:
  void write(std::span<const std::byte> data) override {
    while (!data.empty()) {
      const auto piece = data.first(std::min(data.size(), kPartSize - part_.size()));
      part_.insert(part_.end(), piece.begin(), piece.end());
      data = data.subspan(piece.size());
      if (part_.size() == kPartSize) send();
    }
  }

 protected:
  UploadInParts() { part_.reserve(kPartSize); }
  void send_rest() {
    if (!part_.empty()) send();
    std::vector<std::byte>().swap(part_);  // frees its memory
  }

 private:
  virtual void pass_on(std::span<const std::byte> part) = 0;
  void send() {
    pass_on(part_);
    part_.clear();
  }

  std::vector<std::byte> part_;
};

class PythonUpload final : public UploadInParts {
 public:
  PythonUpload(SharedObject writer, std::string path)
      : writer_(std::move(writer)), path_(std::move(path)) {}
  ~PythonUpload() override {
    if (is_committed_) return;
    try {
      call(path_, [this] { writer_->get().attr("abort")(); });
    } catch (const std::exception&) {
      // The file doesn't appear in any case.
    }
  }

  void finish() override { send_rest(); }
  void commit() override {
    finish();
    call(path_, [this] { writer_->get().attr("close")(); });
    is_committed_ = true;
  }

 private:
  void pass_on(std::span<const std::byte> part) override {
    call(path_, [&] { writer_->get().attr("write")(nb::bytes(part.data(), part.size())); });
  }

  const SharedObject writer_;
  const std::string path_;
  bool is_committed_ = false;
};

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

}  // namespace

class PythonFileSystem::NoLock final : public FileLock {};

PythonFileSystem::PythonFileSystem(nb::object file_system)
    : python_(files_of(file_system)),
      other_(posix_file_system()),
      removes_(nb::hasattr(file_system, "remove")),
      budget_(std::make_shared<ByteBudget>(kBytesInFlight)) {}

PythonFileSystem::PythonFileSystem(const std::string& ca_file)
    : other_(files_without_python(ca_file)) {}

std::optional<std::string> PythonFileSystem::other_path(const std::string& path) const {
  if (path.starts_with(kFileUrl)) return path.substr(kFileUrl.size());
  return python_.object ? std::nullopt : std::optional(path);
}

OpenedPythonFilePtr PythonFileSystem::open(const std::string& path, size_t head) {
  const std::stop_token stop = internal::call_stop;
  if (!stop.stop_possible()) return open_python_file(python_, path, head);
  return AbandonableCall<OpenedPythonFilePtr>(
             [files = python_, path, head] { return open_python_file(files, path, head); })
      .wait(stop);
}

void PythonFileSystem::remember_file(const std::string& path) {
  if (python_.is_object_store) return;
  const std::lock_guard lock(mutex_);
  files_.insert(path);
}

std::unique_ptr<ByteSource> PythonFileSystem::open_source(const std::string& path) {
  if (const auto other = other_path(path)) {
    return ask(*other, [&] { return other_.open_source(*other); });
  }
  return std::make_unique<PythonSource>(open(path, kStreamHead), budget_);
}

std::unique_ptr<RandomAccessFile> PythonFileSystem::open_random(const std::string& path) {
  if (const auto other = other_path(path)) {
    return ask(*other, [&] { return other_.open_random(*other); });
  }
  // A head that takes a request of its own may not be needed.
  const auto opened = open(path, python_.reads_heads ? kRandomHead : 0);
  return std::make_unique<PythonRandomAccessFile>(opened->file, opened->head);
}

std::unique_ptr<MappedFile> PythonFileSystem::map(const std::string& path) {
  if (const auto other = other_path(path)) return other_.map(*other);
  refuse(path, "it is on another file system, and can't be mapped into memory",
         "copy it to this machine first");
}

bool PythonFileSystem::can_map(const std::string& path) {
  const auto other = other_path(path);
  return other && other_.can_map(*other);
}

std::unique_ptr<OutputFile> PythonFileSystem::create(const std::string& path, CreateMode mode) {
  if (const auto other = other_path(path); other && !is_object_url(*other)) {
    return other_.create(*other, mode);
  }
  if (mode == CreateMode::append) {
    refuse(path, "only whole files can be written here", "name a file on this machine");
  }
  return std::make_unique<UploadedFile>(path, begin_upload(path));
}

std::unique_ptr<Upload> PythonFileSystem::begin_upload(const std::string& path) {
  if (const auto other = other_path(path)) {
    if (is_object_url(*other) && on_main_thread()) {
      return std::make_unique<InterruptibleUpload>(other_, *other);
    }
    return ask(*other, [&] { return other_.begin_upload(*other); });
  }
  return call(path, [&]() -> std::unique_ptr<Upload> {
    return std::make_unique<PythonUpload>(
        std::make_shared<const PythonObject>(
            python_.object->get().attr("open_writer")(FilePath{path})),
        path);
  });
}

std::optional<FileStatus> PythonFileSystem::status(const std::string& path) {
  if (const auto other = other_path(path)) {
    return ask(*other, [&] { return other_.status(*other); });
  }
  const auto ask = [files = python_.object, path]() -> std::optional<FileStatus> {
    const nb::object status = files->get().attr("status")(FilePath{path});
    if (status.is_none()) return std::nullopt;
    return FileStatus{kind_named(nb::cast<std::string>(status[0])), nb::cast<uint64_t>(status[1])};
  };
  const std::optional<FileStatus> found = call_until_stopped(path, ask);
  if (found && found->kind == FileKind::regular) remember_file(path);
  return found;
}

std::string PythonFileSystem::resolve_link(const std::string& path) {
  const auto other = other_path(path);
  if (!other) return path;
  const std::string target = other_.resolve_link(*other);
  return target == *other ? path : target;
}

std::vector<std::string> PythonFileSystem::list(const std::string& directory) {
  std::vector<std::string> names;
  for (DirectoryEntry& entry : list_entries(directory)) names.push_back(std::move(entry.name));
  return names;
}

std::vector<DirectoryEntry> PythonFileSystem::list_entries(const std::string& directory) {
  if (const auto other = other_path(directory)) {
    return ask(*other, [&] { return other_.list_entries(*other); });
  }
  return list_entries_with_prefix(directory, "");
}

std::vector<DirectoryEntry> PythonFileSystem::list_entries_with_prefix(const std::string& directory,
                                                                       std::string_view prefix) {
  if (const auto other = other_path(directory)) {
    return ask(*other, [&] { return other_.list_entries_with_prefix(*other, prefix); });
  }
  const auto ask = [files = python_.object, directory, prefix = std::string(prefix)] {
    std::vector<DirectoryEntry> entries;
    const nb::object listed = files->get().attr("list")(FilePath{directory}, FilePath{prefix});
    for (const nb::handle item : listed) {
      const auto [name, kind, size] =
          nb::cast<std::tuple<FilePath, std::string, std::optional<uint64_t>>>(item);
      if (name.bytes.empty() || name.bytes.find('/') != std::string::npos) continue;
      if (!name.bytes.starts_with(prefix)) continue;
      entries.push_back({.name = name.bytes, .kind = kind_named(kind), .size = size});
    }
    return entries;
  };
  std::vector<DirectoryEntry> entries = call_until_stopped(directory, ask);
  std::ranges::sort(entries, {}, &DirectoryEntry::name);
  const auto [first, last] = std::ranges::unique(entries, {}, &DirectoryEntry::name);
  entries.erase(first, last);
  const std::string folder = directory.ends_with('/') ? directory : directory + "/";
  for (const DirectoryEntry& entry : entries) {
    if (entry.kind == FileKind::regular) remember_file(folder + entry.name);
  }
  return entries;
}

bool PythonFileSystem::reads_ahead(const std::string& path) {
  const auto other = other_path(path);
  return !other || other_.reads_ahead(*other);
}

bool PythonFileSystem::is_directory(const std::string& path) {
  if (const auto other = other_path(path)) return other_.is_directory(*other);
  if (python_.is_object_store) return path.ends_with('/');
  {
    const std::lock_guard lock(mutex_);
    if (files_.contains(path)) return false;
  }
  const auto found = status(path);
  return found && found->kind == FileKind::directory;
}

// Object stores have no folders to make; other file systems make those of a file with it.
void PythonFileSystem::make_directories(const std::string& path) {
  if (const auto other = other_path(path)) other_.make_directories(*other);
}

void PythonFileSystem::rename(const std::string& from, const std::string& to) {
  const auto here = other_path(from);
  const auto there = other_path(to);
  if (here && there) return other_.rename(*here, *there);
  refuse(from, "files can't be renamed here", "write the file anew");
}

void PythonFileSystem::remove(const std::string& path) {
  if (const auto other = other_path(path)) {
    return ask(*other, [&] { return other_.remove(*other); });
  }
  if (removes_) call(path, [&] { python_.object->get().attr("remove")(FilePath{path}); });
}

void PythonFileSystem::remove_empty_directory(const std::string& path) {
  if (const auto other = other_path(path)) other_.remove_empty_directory(*other);
}

void PythonFileSystem::sync_directory(const std::string& path) {
  if (const auto other = other_path(path)) other_.sync_directory(*other);
}

// Two writers of one object do no harm: the last one's whole object remains.
std::unique_ptr<FileLock> PythonFileSystem::lock(const std::string& path) {
  if (const auto other = other_path(path)) return other_.lock(*other);
  return std::make_unique<NoLock>();
}

SharedFiles files_of_this_machine() {
  return {{std::shared_ptr<FileSystem>(), &posix_file_system()}};  // that is never destroyed
}

}  // namespace recordpipe::python
