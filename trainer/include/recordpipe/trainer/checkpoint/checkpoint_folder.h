// The checkpoints of a training run: the newest few as JOB_DIR/checkpoint-STEP.safetensors, and the
// one with the best validation accuracy as JOB_DIR/best.safetensors. checkpoint.h describes their
// contents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/base/error.h"
#include "recordpipe/io/file.h"
#include "recordpipe/trainer/checkpoint/checkpoint.h"

namespace recordpipe {

inline constexpr std::string_view checkpoint_lock_name = ".lock";  // of a file in the folder

struct CheckpointFile {
  uint64_t step = 0;
  std::string path = {};
};

// Newest first; without best.safetensors and anything that is not a regular file.
std::vector<CheckpointFile> list_checkpoints(FileSystem& file_system, const std::string& directory);

// Whether an error means that a checkpoint's file is damaged or can't be read, perhaps only at the
// moment, and not that it belongs to another network.
bool is_unreadable_checkpoint(const Error& error);

struct RestoredCheckpoint {
  std::string path = {};
  TrainingState state = {};
  std::vector<Error> damaged = {};  // newer checkpoints that could not be read
};

// Restores the newest intact checkpoint of a folder; empty if the folder has no checkpoint. A
// checkpoint whose step differs from its name counts as damaged. If all are damaged, or one belongs
// to another network, it throws and leaves the variables unchanged. Another process may write
// checkpoints there at the same time.
std::optional<RestoredCheckpoint> restore_newest(FileSystem& file_system,
                                                 const std::string& directory,
                                                 Variables& variables);

// The folder, for the run that writes the checkpoints.
class CheckpointFolder {
 public:
  // Makes the folder and removes incomplete files of killed runs. Keeps the `keep` newest
  // checkpoints; `keep` must be at least 1. Locks the folder: a second run in it gets Error{busy}.
  CheckpointFolder(FileSystem& file_system, std::string directory, size_t keep = 5);

  const std::string& directory() const { return directory_; }

  // Writes checkpoint-STEP.safetensors atomically, then removes the oldest checkpoints beyond
  // `keep` (one that can't be removed is tried again next time). On a full disk it removes those
  // first, or else the oldest one, unless it is the only one, and tries once more. Until a
  // checkpoint succeeds, at most one of the newest `keep` is removed, and none to save a step
  // again. Makes the folder again if it was removed. Returns the file's path. Throws the
  // errors of write_checkpoint() and of the lock, and Error{busy} if the folder or its lock was
  // replaced, and not by a copy: another run has used it since, or may have.
  std::string save(const Variables& variables, const TrainingState& state);

  // Writes best.safetensors atomically. Throws the same errors. On a full disk it removes the
  // checkpoints beyond `keep` and tries once more.
  std::string save_best(const Variables& variables, const TrainingState& state);
  // The validation accuracy of best.safetensors; empty if the file is missing or unreadable.
  std::optional<double> best_accuracy() const;

  // Whether this object has saved or restored one, best.safetensors aside. Reads nothing: the
  // folder may be out of reach at the moment.
  bool has_checkpoint() const { return newest_whole_.has_value(); }
  // Whether the last one that this object has saved or restored has this step and is still there;
  // false if that can't be found out.
  bool has(uint64_t step) const;
  // restore_newest(). The oldest checkpoints beyond `keep` stay until the next save(), or until
  // save_best() finds the disk full. Throws Error{busy} as save() does.
  std::optional<RestoredCheckpoint> restore(Variables& variables);

 private:
  std::unique_ptr<FileLock> lock_folder();  // makes the folder, too
  void require_lock();
  // The content of the lock's file: a copy of the folder has this object's mark, a folder that
  // another run has used has the mark of that one.
  void write_mark();
  std::string read_mark() const;
  // Whether a folder without a mark can be this object's: it has no checkpoints, or its newest one
  // has the step of the last one that this object has saved or restored. So a run of an older
  // version, which writes no mark, is not recognised if it has ended with the same step.
  bool may_be_own() const;
  // Writes a checkpoint. On a full disk, calls free_space(), and if that returns true tries once
  // more.
  void write(const std::string& path, const Variables& variables, const TrainingState& state,
             const std::function<bool()>& free_space);
  // The newest intact checkpoint and all older ones, or none if that one is unknown. Newer ones are
  // damaged: otherwise this run would have resumed from them.
  std::vector<CheckpointFile> list_usable() const;
  bool prune() noexcept;      // false if none was removed
  bool make_room() noexcept;  // the same
  std::string lock_path() const;
  std::string path_of(uint64_t step) const;
  std::string best_path() const;

  FileSystem& file_system_;
  const std::string directory_;
  const size_t keep_;
  const std::string mark_;
  std::unique_ptr<FileLock> lock_;
  bool is_marked_ = false;                // write_mark() has succeeded
  bool made_room_ = false;                // on a full disk, since the last saved checkpoint
  std::optional<uint64_t> newest_whole_;  // the step of the last saved or restored checkpoint
};

}  // namespace recordpipe
