#include "python/native/files/python_file_system.h"

#include <algorithm>
#include <array>
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
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/call_stop.h"

namespace recordpipe::python {
namespace {

constexpr std::array<std::string_view, 5> kUrls = {"s3://", "gs://", "az://", "http://",
                                                   "https://"};
constexpr size_t kPartSize = size_t{8} << 20;
constexpr uint64_t kBytesInFlight = uint64_t{128} << 20;

FileSystem& on_this_machine() { return posix_file_system(); }

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

bool attribute(const nb::object& object, const char* name) {
  return nb::cast<bool>(nb::getattr(object, name, nb::bool_(false)));
}

PythonFiles files_of(nb::object object) {
  return {.object = std::make_shared<const PythonObject>(object),
          .is_object_store = attribute(object, "is_object_store"),
          .conditional = attribute(object, "reads_are_conditional"),
          .reads_heads = nb::hasattr(object, "read_head")};
}

// Passes the bytes on in large parts.
class PythonUpload final : public Upload {
 public:
  // Needs the GIL.
  PythonUpload(SharedObject writer, std::string path)
      : writer_(std::move(writer)),
        path_(std::move(path)),
        stop_(upload_stop),
        is_abandonable_(stop_.stop_possible() && attribute(writer_->get(), "is_abandonable")) {
    part_.reserve(kPartSize);
  }
  ~PythonUpload() override {
    if (is_committed_) return;
    try {
      call(path_, [this] { writer_->get().attr("abort")(); });
    } catch (const std::exception&) {
      // The file doesn't appear in any case.
    }
  }

  void write(std::span<const std::byte> data) override {
    while (!data.empty()) {
      const auto piece = data.first(std::min(data.size(), kPartSize - part_.size()));
      part_.append(reinterpret_cast<const char*>(piece.data()), piece.size());
      data = data.subspan(piece.size());
      if (part_.size() == kPartSize) send();
    }
  }
  void finish() override {
    send();
    std::string().swap(part_);  // frees its memory
  }
  void commit() override {
    finish();
    call_writer([writer = writer_] { writer->get().attr("close")(); });
    is_committed_ = true;
  }

 private:
  void send() {
    if (part_.empty()) return;
    call_writer([writer = writer_, part = std::make_shared<const std::string>(std::move(part_))] {
      writer->get().attr("write")(nb::bytes(part->data(), part->size()));
    });
    part_.clear();
    part_.reserve(kPartSize);
  }
  // After a stop request, doesn't wait for a writer whose abort() may be called meanwhile.
  template <class Function>
  void call_writer(Function function) {
    if (!is_abandonable_) return call(path_, function);
    const internal::CallStopScope scope(stop_);
    call_until_stopped(path_, [function = std::move(function)] {
      function();
      return true;
    });
  }

  const SharedObject writer_;
  const std::string path_;
  const std::stop_token stop_;
  const bool is_abandonable_;
  std::string part_;
  bool is_committed_ = false;
};

}  // namespace

class PythonFileSystem::NoLock final : public FileLock {};

PythonFileSystem::PythonFileSystem(nb::object file_system, bool urls_only)
    : python_(files_of(file_system)),
      urls_only_(urls_only),
      removes_(nb::hasattr(file_system, "remove")),
      budget_(std::make_shared<ByteBudget>(kBytesInFlight)) {}

std::optional<std::string> PythonFileSystem::local(const std::string& path) const {
  if (path.starts_with(kFileUrl)) return path.substr(kFileUrl.size());
  const auto starts = [path](std::string_view scheme) { return path.starts_with(scheme); };
  if (!urls_only_ || std::ranges::any_of(kUrls, starts)) {
    return std::nullopt;
  }
  return path;
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
  if (const auto here = local(path)) return on_this_machine().open_source(*here);
  return std::make_unique<PythonSource>(open(path, kStreamHead), budget_);
}

std::unique_ptr<RandomAccessFile> PythonFileSystem::open_random(const std::string& path) {
  if (const auto here = local(path)) return on_this_machine().open_random(*here);
  // A head that takes a request of its own may not be needed.
  const auto opened = open(path, python_.reads_heads ? kRandomHead : 0);
  return std::make_unique<PythonRandomAccessFile>(opened->file, opened->head);
}

std::unique_ptr<MappedFile> PythonFileSystem::map(const std::string& path) {
  if (const auto here = local(path)) return on_this_machine().map(*here);
  refuse(path, "it is on another file system, and can't be mapped into memory",
         "copy it to this machine first");
}

bool PythonFileSystem::can_map(const std::string& path) { return local(path).has_value(); }

std::unique_ptr<OutputFile> PythonFileSystem::create(const std::string& path, CreateMode mode) {
  if (const auto here = local(path)) return on_this_machine().create(*here, mode);
  if (mode == CreateMode::append) {
    refuse(path, "only whole files can be written here", "name a file on this machine");
  }
  return std::make_unique<UploadedFile>(path, begin_upload(path));
}

std::unique_ptr<Upload> PythonFileSystem::begin_upload(const std::string& path) {
  if (const auto here = local(path)) return on_this_machine().begin_upload(*here);
  return call(path, [&]() -> std::unique_ptr<Upload> {
    return std::make_unique<PythonUpload>(
        std::make_shared<const PythonObject>(
            python_.object->get().attr("open_writer")(FilePath{path})),
        path);
  });
}

std::optional<FileStatus> PythonFileSystem::status(const std::string& path) {
  if (const auto here = local(path)) return on_this_machine().status(*here);
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
  const auto here = local(path);
  if (!here) return path;
  const std::string target = on_this_machine().resolve_link(*here);
  return target == *here ? path : target;
}

std::vector<std::string> PythonFileSystem::list(const std::string& directory) {
  std::vector<std::string> names;
  for (DirectoryEntry& entry : list_entries(directory)) names.push_back(std::move(entry.name));
  return names;
}

std::vector<DirectoryEntry> PythonFileSystem::list_entries(const std::string& directory) {
  if (const auto here = local(directory)) return on_this_machine().list_entries(*here);
  return list_entries_with_prefix(directory, "");
}

std::vector<DirectoryEntry> PythonFileSystem::list_entries_with_prefix(const std::string& directory,
                                                                       std::string_view prefix) {
  if (const auto here = local(directory)) {
    return on_this_machine().list_entries_with_prefix(*here, prefix);
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

bool PythonFileSystem::reads_ahead(const std::string& path) { return !local(path); }

bool PythonFileSystem::is_directory(const std::string& path) {
  if (const auto here = local(path)) return on_this_machine().is_directory(*here);
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
  if (const auto here = local(path)) on_this_machine().make_directories(*here);
}

void PythonFileSystem::rename(const std::string& from, const std::string& to) {
  const auto here = local(from);
  const auto there = local(to);
  if (here && there) return on_this_machine().rename(*here, *there);
  refuse(from, "files can't be renamed here", "write the file anew");
}

void PythonFileSystem::remove(const std::string& path) {
  if (const auto here = local(path)) return on_this_machine().remove(*here);
  if (removes_) call(path, [&] { python_.object->get().attr("remove")(FilePath{path}); });
}

void PythonFileSystem::remove_empty_directory(const std::string& path) {
  if (const auto here = local(path)) on_this_machine().remove_empty_directory(*here);
}

void PythonFileSystem::sync_directory(const std::string& path) {
  if (const auto here = local(path)) on_this_machine().sync_directory(*here);
}

// Two writers of one object do no harm: the last one's whole object remains.
std::unique_ptr<FileLock> PythonFileSystem::lock(const std::string& path) {
  if (const auto here = local(path)) return on_this_machine().lock(*here);
  return std::make_unique<NoLock>();
}

SharedFiles files_of_this_machine() {
  return {{std::shared_ptr<FileSystem>(), &on_this_machine()}};  // that is never destroyed
}

void define_file_system(nb::module_& module) {
  nb::class_<SharedFiles>(module, "FileSystem")
      .def("__init__", [](SharedFiles* self, nb::object file_system, bool urls_only) {
        new (self)
            SharedFiles{std::make_shared<PythonFileSystem>(std::move(file_system), urls_only)};
      });
}

}  // namespace recordpipe::python
