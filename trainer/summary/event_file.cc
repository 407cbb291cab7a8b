#include "recordpipe/trainer/summary/event_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <span>

#include <fmt/format.h>
#include <unistd.h>

#include "recordpipe/base/error.h"
#include "recordpipe/trainer/summary/event.h"

namespace recordpipe {
namespace {

constexpr std::string_view kEventFilePrefix = "events.out.tfevents.";

// The time in the name of an event file; 0 for other files.
uint64_t seconds_in(std::string_view name) {
  if (!is_event_file_name(name)) return 0;
  name.remove_prefix(kEventFilePrefix.size());
  uint64_t seconds = 0;
  std::from_chars(name.data(), name.data() + name.size(), seconds);
  // Larger numbers are another program's and are ignored: a name with ten digits can't sort after
  // them.
  return seconds < 9'999'999'999 ? seconds : 0;
}

std::string new_path(FileSystem& file_system, const std::string& folder, double wall_time,
                     const std::string& host) {
  auto seconds = static_cast<uint64_t>(std::max(wall_time, 0.0));
  for (const std::string& name : file_system.list(folder))
    seconds = std::max(seconds, seconds_in(name) + 1);
  return fmt::format("{}/{}{:010}.{}.{}", folder, kEventFilePrefix, seconds, host, ::getpid());
}

}  // namespace

EventFile::EventFile(FileSystem& file_system, const std::string& folder, double wall_time,
                     const std::string& host) {
  file_system.make_directories(folder);
  const std::string path = new_path(file_system, folder, wall_time, host);
  file_ = file_system.create(path, CreateMode::truncate);
  records_ = std::make_unique<RecordWriter>(*file_);
  try {
    write(encode_event({.wall_time = wall_time}));
    file_system.sync_directory(folder);
  } catch (...) {
    file_.reset();
    try {
      file_system.remove(path);
    } catch (const Error&) {  // the first error has the cause
    }
    throw;
  }
}

void EventFile::write(std::string_view event) { records_->write(std::as_bytes(std::span(event))); }

void EventFile::sync() { file_->sync(); }

bool is_event_file_name(std::string_view name) { return name.starts_with(kEventFilePrefix); }

std::string host_name() {
  std::array<char, 256> name = {};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

}  // namespace recordpipe
