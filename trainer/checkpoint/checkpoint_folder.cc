#include "recordpipe/trainer/checkpoint/checkpoint_folder.h"

#include <algorithm>
#include <random>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "dataset/base/parse_number.h"
#include "recordpipe/io/atomic_file.h"

namespace recordpipe {
namespace {

constexpr std::string_view name_prefix = "checkpoint-", name_suffix = ".safetensors";
constexpr std::string_view best_name = "best.safetensors";

// The step in a checkpoint's name; empty for other files.
std::optional<uint64_t> step_of(std::string_view name) {
  if (name.size() <= name_prefix.size() + name_suffix.size() || !name.starts_with(name_prefix) ||
      !name.ends_with(name_suffix))
    return {};
  const std::string_view text =
      name.substr(name_prefix.size(), name.size() - name_prefix.size() - name_suffix.size());
  if (text.size() > 1 && text.front() == '0') return {};  // not a name that save() makes
  return parse_number<uint64_t>(text);
}

std::string random_mark() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

bool is_another_networks(ErrorKind kind) {
  return kind == ErrorKind::not_found || kind == ErrorKind::invalid_argument;
}

}  // namespace

bool is_unreadable_checkpoint(const Error& error) {
  return is_damage(error.kind()) || error.kind() == ErrorKind::io ||
         error.kind() == ErrorKind::unsupported;
}

std::vector<CheckpointFile> list_checkpoints(FileSystem& file_system,
                                             const std::string& directory) {
  std::vector<CheckpointFile> files;
  for (const std::string& name : file_system.list(directory)) {
    const auto step = step_of(name);
    if (!step) continue;
    const std::string path = directory + "/" + name;
    const auto status = file_system.status(path);
    if (status && status->kind == FileKind::regular) files.push_back({*step, path});
  }
  std::sort(files.begin(), files.end(),
            [](const CheckpointFile& a, const CheckpointFile& b) { return a.step > b.step; });
  return files;
}

std::optional<RestoredCheckpoint> restore_newest(FileSystem& file_system,
                                                 const std::string& directory,
                                                 Variables& variables) {
  RestoredCheckpoint restored;
  for (const CheckpointFile& file : list_checkpoints(file_system, directory)) {
    restored.path = file.path;
    try {
      restored.state = read_checkpoint(file_system, file.path, variables, file.step);
      return restored;
    } catch (const Error& error) {
      // It was listed but is gone: the training run has removed it as too old.
      if (error.kind() == ErrorKind::not_found && !file_system.status(file.path)) continue;
      if (is_another_networks(error.kind()))
        throw Error({.kind = error.kind(),
                     .path = error.path(),
                     .reason = error.reason(),
                     .hint =
                         "is it the checkpoint of another network? use another job folder, or the "
                         "number of layers of that network"});
      if (!is_unreadable_checkpoint(error)) throw;
      restored.damaged.push_back(error);
    }
  }
  if (restored.damaged.empty()) return {};
  const Error& newest = restored.damaged.front();
  throw Error({.kind = newest.kind(),
               .path = newest.path(),
               .offset = newest.offset(),
               .reason = newest.reason(),
               .hint = "no checkpoint in this folder is intact: remove them to start over"});
}

CheckpointFolder::CheckpointFolder(FileSystem& file_system, std::string directory, size_t keep)
    : file_system_(file_system),
      directory_(std::move(directory)),
      keep_(keep),
      mark_(random_mark()) {
  if (keep == 0)
    throw Error(
        {.kind = ErrorKind::invalid_argument, .reason = "at least one checkpoint must be kept"});
  lock_ = lock_folder();
  write_mark();
  remove_abandoned_partials(file_system_, directory_, [](std::string_view name) {
    return step_of(name).has_value() || name == best_name;
  });
}

std::string CheckpointFolder::lock_path() const {
  return directory_ + "/" + std::string(checkpoint_lock_name);
}

std::string CheckpointFolder::path_of(uint64_t step) const {
  return directory_ + "/" + std::string(name_prefix) + std::to_string(step) +
         std::string(name_suffix);
}

std::unique_ptr<FileLock> CheckpointFolder::lock_folder() {
  file_system_.make_directories(directory_);
  return file_system_.lock(lock_path());
}

void CheckpointFolder::require_lock() {
  if (lock_->holds_its_name()) return;
  auto lock = lock_folder();
  const std::string mark = read_mark();
  // It is empty or incomplete if lock_folder() has made the file just now, or an attempt that
  // failed, or if a run could not mark it, such as that of an older version.
  if (mark != mark_ && !(mark_.starts_with(mark) && may_be_own()))
    throw Error({.kind = ErrorKind::busy,
                 .path = lock_path(),
                 .reason = "replaced during the run, and not by a copy of itself: another run may "
                           "have used the folder since",
                 .hint = "start this run again, in another folder"});
  lock_ = std::move(lock);
  if (mark != mark_) write_mark();
}

bool CheckpointFolder::may_be_own() const {
  const std::vector<CheckpointFile> files = list_checkpoints(file_system_, directory_);
  return files.empty() || files.front().step == newest_whole_;
}

void CheckpointFolder::write_mark() {
  is_marked_ = false;
  try {
    const auto file = file_system_.create(lock_path(), CreateMode::truncate);
    file->write(std::as_bytes(std::span(mark_)));
    file->close();
    is_marked_ = true;
  } catch (const Error&) {  // such as a full disk: tried again after the next save
  }
}

std::string CheckpointFolder::read_mark() const {
  std::string mark(mark_.size(), '\0');
  const auto file = file_system_.open_random(lock_path());
  mark.resize(file->read_at(0, std::as_writable_bytes(std::span(mark))));
  return mark;
}

void CheckpointFolder::write(const std::string& path, const Variables& variables,
                             const TrainingState& state, const std::function<bool()>& free_space) {
  try {
    write_checkpoint(file_system_, path, variables, state);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::no_space || !free_space()) throw;
    write_checkpoint(file_system_, path, variables, state);
  }
}

std::string CheckpointFolder::save(const Variables& variables, const TrainingState& state) {
  const std::string path = path_of(state.step);
  require_lock();
  // A step that is saved already is written again only to record its accuracy.
  write(path, variables, state, [&] { return !has(state.step) && make_room(); });
  made_room_ = false;
  newest_whole_ = state.step;
  prune();
  if (!is_marked_) write_mark();
  return path;
}

std::optional<RestoredCheckpoint> CheckpointFolder::restore(Variables& variables) {
  require_lock();
  auto restored = restore_newest(file_system_, directory_, variables);
  if (!restored) return {};
  newest_whole_ = restored->state.step;
  return restored;
}

bool CheckpointFolder::has(uint64_t step) const {
  try {
    return step == newest_whole_ && file_system_.status(path_of(step));
  } catch (const Error&) {
    return false;
  }
}

std::vector<CheckpointFile> CheckpointFolder::list_usable() const {
  std::vector<CheckpointFile> files = list_checkpoints(file_system_, directory_);
  std::erase_if(files, [&](const CheckpointFile& file) { return file.step > newest_whole_; });
  return files;
}

bool CheckpointFolder::prune() noexcept {
  bool removed = false;
  try {
    const std::vector<CheckpointFile> files = list_usable();
    for (size_t i = keep_; i < files.size(); ++i) {
      try {
        file_system_.remove(files[i].path);
        removed = true;
      } catch (const Error&) {  // retried after the next one
      }
    }
  } catch (...) {
  }
  return removed;
}

bool CheckpointFolder::make_room() noexcept {
  if (prune()) return true;
  // Where removing one has not helped, because others fill the disk, removing more would not
  // either.
  if (made_room_) return false;
  try {
    const std::vector<CheckpointFile> files = list_usable();
    if (files.size() < 2) return false;
    file_system_.remove(files.back().path);
    return made_room_ = true;
  } catch (...) {
    return false;
  }
}

std::string CheckpointFolder::best_path() const {
  return directory_ + "/" + std::string(best_name);
}

std::string CheckpointFolder::save_best(const Variables& variables, const TrainingState& state) {
  require_lock();
  write(best_path(), variables, state, [&] { return prune(); });
  return best_path();
}

std::optional<double> CheckpointFolder::best_accuracy() const {
  const auto status = file_system_.status(best_path());
  if (!status || status->kind != FileKind::regular) return {};
  try {
    return read_training_state(file_system_, best_path()).validation_accuracy;
  } catch (const Error& error) {
    if (!is_unreadable_checkpoint(error)) throw;
    return {};  // the next one will replace it
  }
}

}  // namespace recordpipe
