#include "python/native/files/python_file_system.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "dataset/io/listings.h"
#include "dataset/io/range_source.h"
#include "dataset/io/windowed_file.h"
#include "python/native/files/file_path.h"
#include "python/native/files/interruptible_files.h"
#include "python/native/files/python_file.h"
#include "python/native/files/upload_in_parts.h"
#include "python/native/interpreter/abandonable_call.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/call_stop.h"
#include "recordpipe/http/file_system.h"
#include "recordpipe/io/routed_file_system.h"
#include "recordpipe/object_store/file_system.h"

namespace recordpipe::python {
namespace {

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

// Like call(), for a function that owns what it uses; ends when the caller is stopped
// (call_stop.h), even if the function hangs.
template <class Function>
auto call_until_stopped(const std::string& path, Function function) {
  const std::stop_token stop = internal::call_stop;
  if (!stop.stop_possible()) return call(path, function);
  const auto called = [path, function = std::move(function)] { return call(path, function); };
  return std::move(AbandonableCall<decltype(called())>(called).wait(stop));
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

class NoLock final : public FileLock {};

// The files of a Python object, which are written as uploads: they appear whole, under their names.
// Thread-safe.
class ObjectFiles final : public FileSystem {
 public:
  // Needs the GIL.
  explicit ObjectFiles(const nb::object& file_system)
      : python_(files_of(file_system)), removes_(nb::hasattr(file_system, "remove")) {}

  std::unique_ptr<ByteSource> open_source(const std::string& path) override {
    return source(open(path, kStreamHead));
  }
  std::unique_ptr<RandomAccessFile> open_random(const std::string& path) override {
    return random(open(path, random_head()));
  }
  Opening<ByteSource> start_source(const std::string& path) override {
    return [this, call = begin(path, kStreamHead)] {
      return source(std::move(call.wait(internal::call_stop)));
    };
  }
  Opening<RandomAccessFile> start_random(const std::string& path) override {
    return [call = begin(path, random_head())] {
      return random(std::move(call.wait(internal::call_stop)));
    };
  }
  std::unique_ptr<MappedFile> map(const std::string& path) override {
    refuse(path, "it is on another file system, and can't be mapped into memory",
           "copy it to this machine first");
  }
  bool can_map(const std::string&) override { return false; }
  std::unique_ptr<OutputFile> create(const std::string& path, CreateMode mode) override {
    return upload_of(*this, path, mode);
  }
  std::unique_ptr<Upload> begin_upload(const std::string& path) override {
    return call(path, [&]() -> std::unique_ptr<Upload> {
      return std::make_unique<PythonUpload>(
          std::make_shared<const PythonObject>(
              python_.object->get().attr("open_writer")(FilePath{path})),
          path);
    });
  }

  std::optional<FileStatus> status(const std::string& path) override {
    const auto ask = [files = python_.object, path]() -> std::optional<FileStatus> {
      const nb::object status = files->get().attr("status")(FilePath{path});
      if (status.is_none()) return std::nullopt;
      return FileStatus{kind_named(nb::cast<std::string>(status[0])),
                        nb::cast<uint64_t>(status[1])};
    };
    const std::optional<FileStatus> found = call_until_stopped(path, ask);
    if (found && found->kind == FileKind::regular) remember_file(path);
    return found;
  }

  std::vector<DirectoryEntry> list_entries(const std::string& directory) override {
    return list_entries_with_prefix(directory, "");
  }
  std::vector<DirectoryEntry> list_entries_with_prefix(const std::string& directory,
                                                       std::string_view prefix) override {
    const auto ask = [files = python_.object, directory, prefix = std::string(prefix)] {
      std::vector<DirectoryEntry> entries;
      const nb::object listed = files->get().attr("list")(FilePath{directory}, FilePath{prefix});
      for (const nb::handle item : listed) {
        const auto [name, kind, size] =
            nb::cast<std::tuple<FilePath, std::string, std::optional<uint64_t>>>(item);
        entries.push_back({.name = name.bytes, .kind = kind_named(kind), .size = size});
      }
      return entries;
    };
    std::vector<DirectoryEntry> entries =
        checked_entries(call_until_stopped(directory, ask), prefix);
    const auto [first, last] = std::ranges::unique(entries, {}, &DirectoryEntry::name);
    entries.erase(first, last);
    const std::string folder = directory.ends_with('/') ? directory : directory + "/";
    for (const DirectoryEntry& entry : entries) {
      if (entry.kind == FileKind::regular) remember_file(folder + entry.name);
    }
    return entries;
  }

  bool reads_ahead(const std::string&) override { return true; }
  // In an object store, tells from the name: a folder ends with a slash.
  bool is_directory(const std::string& path) override {
    if (python_.is_object_store) return path.ends_with('/');
    {
      const std::lock_guard lock(mutex_);
      if (files_.contains(path)) return false;
    }
    const auto found = status(path);
    return found && found->kind == FileKind::directory;
  }
  // Object stores have no folders to make; other file systems make those of a file with it.
  void make_directories(const std::string&) override {}
  void rename(const std::string& from, const std::string&) override {
    refuse(from, "files can't be renamed here", "write the file anew");
  }
  void remove(const std::string& path) override {
    if (removes_) call(path, [&] { python_.object->get().attr("remove")(FilePath{path}); });
  }
  void remove_empty_directory(const std::string&) override {}
  void sync_directory(const std::string&) override {}
  // Two writers of one object do no harm: the last one's whole object remains.
  std::unique_ptr<FileLock> lock(const std::string&) override { return std::make_unique<NoLock>(); }

 private:
  // A head that takes a request of its own may not be needed.
  size_t random_head() const { return python_.reads_heads ? kRandomHead : 0; }
  std::unique_ptr<RangeSource> source(OpenedPythonFile opened) const {
    return std::make_unique<RangeSource>(std::make_shared<PythonRanges>(opened.file), kPythonRanges,
                                         budget_, std::move(opened.head));
  }
  static std::unique_ptr<WindowedFile> random(OpenedPythonFile opened) {
    return std::make_unique<WindowedFile>(std::make_shared<PythonRanges>(opened.file),
                                          kPythonRanges, std::move(opened.head));
  }
  // Opens a file on a thread of its own.
  AbandonableCall<OpenedPythonFile> begin(const std::string& path, size_t head) const {
    return AbandonableCall<OpenedPythonFile>(
        [files = python_, path, head] { return open_python_file(files, path, head); });
  }
  OpenedPythonFile open(const std::string& path, size_t head) const {
    const std::stop_token stop = internal::call_stop;
    if (!stop.stop_possible()) return open_python_file(python_, path, head);
    return std::move(begin(path, head).wait(stop));
  }
  void remember_file(const std::string& path) {
    if (python_.is_object_store) return;
    const std::lock_guard lock(mutex_);
    files_.insert(path);
  }

  const PythonFiles python_;
  const bool removes_;  // has remove()
  // Of all streams.
  const std::shared_ptr<ByteBudget> budget_ = std::make_shared<ByteBudget>(kBytesInFlight);
  std::mutex mutex_;
  std::set<std::string> files_;  // paths of regular files, unless their kind is in their names
  const internal::AfterFork renewal_{[this] {
    if (!internal::renew(mutex_)) internal::renew_without_destruction(files_);
  }};
};

bool is_not_file_url(const std::string& path) { return !path.starts_with(kFileUrl); }

}  // namespace

SharedFiles files_of_object(const nb::object& file_system) {
  static FileSystem& local = interruptible_files(posix_file_system());
  return {std::make_shared<RoutedFileSystem>(local, std::make_shared<ObjectFiles>(file_system),
                                             is_not_file_url, std::string(kFileUrl))};
}

SharedFiles files_of_urls(const std::string& ca_file) {
  return {std::make_shared<RoutedFileSystem>(interruptible_files(files_without_python(ca_file)),
                                             nullptr, nullptr, std::string(kFileUrl))};
}

SharedFiles files_of_this_machine() {
  return {{std::shared_ptr<FileSystem>(), &posix_file_system()}};  // that is never destroyed
}

}  // namespace recordpipe::python
