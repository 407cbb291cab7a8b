#include "python/native/toolkit/file_work.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <stop_token>
#include <utility>

#include "dataset/base/available_cpus.h"
#include "dataset/base/names_in_words.h"
#include "dataset/parallel/service_thread.h"
#include "dataset/toolkit/files/file_identity.h"
#include "dataset/toolkit/files/many_files.h"
#include "python/native/files/listed_sizes.h"
#include "python/native/interpreter/gil.h"
#include "python/native/interpreter/interpreter_exit.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/call_stop.h"
#include "recordpipe/base/stop.h"
#include "recordpipe/record/input_files.h"

namespace recordpipe::python {
namespace {

// The interval of progress calls, and of checks for signals.
constexpr std::chrono::milliseconds kProgressInterval{100};

// How many sizes are asked for at a time, where each is a request.
constexpr size_t kRequests = 64;

// "no such file"; of a path on this machine, with the nearest name in its folder.
Error missing_file(FileSystem& files, const std::string& path) {
  Error::Parts parts{.kind = ErrorKind::not_found, .path = path, .reason = "no such file"};
  if (!files.can_map(path)) return Error(parts);
  const size_t name = path.rfind('/') + 1;  // npos + 1 is 0
  const std::string folder = path.substr(0, name);
  const auto distance = [wanted = path.substr(name)](const DirectoryEntry& entry) {
    return edits(entry.name, wanted);
  };
  try {
    const auto entries = files.list_entries(folder.empty() ? "." : folder);
    const auto nearest = std::ranges::min_element(entries, {}, distance);
    if (nearest != entries.end() && 2 * distance(*nearest) <= path.size() - name) {
      parts.hint = "did you mean " + printable(folder + nearest->name) + "?";
    }
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::not_found) {
      parts.hint = "there is no folder " + printable(path.substr(0, name - 1));
    }
  }
  return Error(parts);
}

uint64_t size_of_input(FileSystem& files, const std::string& path) {
  const auto status = files.status(path);
  if (!status) throw missing_file(files, path);
  if (status->kind == FileKind::other) {
    throw Error({.kind = ErrorKind::unsupported,
                 .path = path,
                 .reason = "a pipe or a device, not a file",
                 .hint = "copy it to a file first"});
  }
  return status->size;
}

// The thread of an operation.
class WorkThread {
 public:
  WorkThread(FileSystem& files, const std::function<void(const FileWork&)>& operation)
      : files_(files),
        thread_("rp-files", [this, &operation](const std::stop_token&) { run(operation); }) {}
  ~WorkThread() { thread_.join(); }
  WorkThread(const WorkThread&) = delete;
  WorkThread& operator=(const WorkThread&) = delete;

  // Returns whether the operation has ended, after at most kProgressInterval.
  bool wait() {
    std::unique_lock lock(mutex_);
    return ended_.wait_for(lock, kProgressInterval, [this] { return has_ended_; });
  }
  void request_stop() { stop_.request_stop(); }
  uint64_t done() const { return done_; }
  // Need wait() == true.
  const std::exception_ptr& failure() const { return failure_; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  void run(const std::function<void(const FileWork&)>& operation) {
    const internal::CallStopScope scope(stop_.get_token());
    try {
      operation({.files = files_,
                 .stop = stop_.get_token(),
                 .advance = [this](uint64_t bytes) { done_ += bytes; },
                 .tell = [this](const std::string& what) { notes_.push_back(what); }});
    } catch (...) {
      failure_ = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    ended_.notify_one();
  }

  FileSystem& files_;
  std::stop_source stop_;
  std::atomic<uint64_t> done_ = 0;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
  std::exception_ptr failure_;
  std::vector<std::string> notes_;
  parallel::ServiceThread thread_;
};

// The paths on this machine of file:// URLs; other paths as they are.
std::vector<std::string> paths_here(std::vector<std::string> paths) {
  for (std::string& path : paths) {
    if (path.starts_with(kFileUrl)) path.erase(0, kFileUrl.size());
  }
  return paths;
}

}  // namespace

void require_local(FileSystem& files, const std::string& path) {
  if (files.can_map(path) && !files.status(path)) throw missing_file(files, path);
}

Inputs find_inputs(const SharedFiles& files, const std::vector<FilePath>& given, bool recursive) {
  Inputs inputs;
  std::string note;
  run_file_work(files, nb::none(), 0, [&](const FileWork& work) {
    ListedSizes listed(work.files);
    auto found = find_files_and_folders(listed, strings(given), {.recursive = recursive});
    note = left_out_note(found);
    inputs.paths = std::move(found.files);
    inputs.folders = std::move(found.folders);
    const bool is_local = std::ranges::all_of(
        inputs.paths, [&](const std::string& path) { return work.files.can_map(path); });
    for_each_file<uint64_t>(
        inputs.paths.size(), available_cpus(),
        [&](size_t i) { return FileTurn{.is_small = work.files.can_map(inputs.paths[i])}; },
        [&](FileShare share) {
          const std::string& path = inputs.paths[share.number];
          throw_if_stopped(work.stop, path);
          if (const auto size = listed.size_of(path)) return *size;
          return size_of_input(work.files, path);
        },
        [&](uint64_t size) {
          inputs.sizes.push_back(size);
          inputs.bytes += size;
          return true;
        },
        is_local
            ? parallel::InOrderOptions{.threads = available_cpus()}
            : parallel::InOrderOptions{.threads = kRequests, .kind = parallel::CrewKind::waits});
  });
  warn(note);
  return inputs;
}

namespace {

// The stack level of the innermost frame that is not the package's.
Py_ssize_t level_of_user() {
  Py_ssize_t level = 1;
  nb::object frame = nb::module_::import_("sys").attr("_getframe")(0);
  for (; !frame.is_none(); frame = frame.attr("f_back"), ++level) {
    const nb::object name = frame.attr("f_globals").attr("get")("__name__", "");
    const std::string module = nb::str(name).c_str();
    if (module != "recordpipe" && !module.starts_with("recordpipe.")) return level;
  }
  return 1;
}

}  // namespace

void warn(const std::string& text) {
  if (text.empty()) return;
  if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), level_of_user()) != 0) throw nb::python_error();
}

void require_no_input(const SharedFiles& files, const std::vector<std::string>& inputs,
                      const std::vector<std::string>& outputs) {
  recordpipe::require_no_input(paths_here(inputs), paths_here(outputs));  // by any name
  for (const std::string& output : outputs) {
    if ((*files).can_map(output) || std::ranges::find(inputs, output) == inputs.end()) continue;
    throw Error({.kind = ErrorKind::invalid_argument,
                 .path = output,
                 .reason = kReplacesInput,
                 .hint = "give the output another name"});
  }
}

void run_file_work(const SharedFiles& files, const nb::object& progress, uint64_t total,
                   const std::function<void(const FileWork&)>& operation) {
  const ExitGuard guard;
  std::optional<nb::python_error> raised;
  std::exception_ptr failure;
  std::vector<std::string> notes;
  uint64_t done = 0;
  {
    const GilRelease no_gil;
    {
      WorkThread work(*files, operation);
      while (!work.wait()) {
        if (ExitGuard::is_over()) work.request_stop();
        if (raised || ExitGuard::is_over()) continue;
        const GilScope gil;
        try {
          if (PyErr_CheckSignals() != 0) throw nb::python_error();
          if (!progress.is_none()) progress(work.done(), total);
        } catch (nb::python_error& error) {
          raised.emplace(std::move(error));
          work.request_stop();
        }
      }
      failure = work.failure();
      notes = work.notes();
      done = work.done();
    }
    if (ExitGuard::is_over()) ExitGuard::park();
  }
  if (raised) throw std::move(*raised);
  if (failure) std::rethrow_exception(failure);
  for (const std::string& note : notes) warn(note);
  if (!progress.is_none()) progress(done, total);
}

RecordReadOptions read_options(bool check_crc, const std::string& compression) {
  RecordReadOptions options;
  if (!check_crc) options.crc = CrcCheck::never;
  options.compression = compression_named(compression);
  return options;
}

RecordReadOptions read_options(const Reading& reading) {
  const auto& [compression, check_crc, max_record_size, kind, on_damage] = reading;
  RecordReadOptions options = read_options(check_crc, compression);
  options.max_record_size = max_record_size;
  return options;
}

OnDamage on_damage_of(std::string_view name) {
  return name == to_string(OnDamage::skip_file) ? OnDamage::skip_file
         : name == to_string(OnDamage::resync)  ? OnDamage::resync
                                                : OnDamage::raise;
}

InputReading input_reading(const Reading& reading) {
  const auto& [compression, check_crc, max_record_size, kind, on_damage] = reading;
  return {.reading = read_options(reading),
          .on_damage = on_damage_of(on_damage),
          .remedy = check_crc ? kOnDamageRemedy : ""};
}

std::optional<MessageKind> kind_of(const Reading& reading) {
  for (const auto& [name, kind] : kMessageKindNames) {
    if (name == std::get<3>(reading)) return kind;
  }
  return std::nullopt;
}

DamageSink SkippedRegions::sink() {
  constexpr size_t kMaxKept = 10'000;
  return [this](const std::string& path, const DamagedRegion& region) {
    counts_.add(region);
    if (first_.size() < kMaxKept) first_.emplace_back(path, region);
  };
}

nb::list SkippedRegions::to_python() const {
  nb::list regions;
  for (const auto& [path, region] : first_) {
    regions.append(nb::make_tuple(FilePath{path}, region.begin, region.end, text(region.reason),
                                  text(region.hint)));
  }
  return regions;
}

std::optional<Where> where_of(const std::optional<std::string>& where) {
  std::optional<Where> parsed;
  if (where) parsed.emplace(*where);
  return parsed;
}

SurveyOptions survey_options(const Reading& reading, const std::optional<std::string>& where,
                             std::optional<uint64_t> limit, size_t threads) {
  return {.input = input_reading(reading),
          .filter = RecordFilter(where_of(where), limit, kind_of(reading)),
          .threads = threads};
}

nb::str text(std::string_view bytes) {
  return nb::steal<nb::str>(
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

}  // namespace recordpipe::python
