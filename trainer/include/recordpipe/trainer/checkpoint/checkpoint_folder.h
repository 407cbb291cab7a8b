// The checkpoints of a training run: JOB_DIR/checkpoint-STEP.safetensors, the newest few, and
// JOB_DIR/best.safetensors, the one that did best on the validation split. checkpoint.h says what
// is in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "recordpipe/error.h"
#include "recordpipe/file.h"
#include "recordpipe/trainer/checkpoint/checkpoint.h"

namespace recordpipe {

struct CheckpointFile {
  uint64_t step = 0;
  std::string path = {};
};

// The newest first; best.safetensors is not among them, nor what is no regular file.
std::vector<CheckpointFile> list_checkpoints(FileSystem& file_system, const std::string& directory);

struct RestoredCheckpoint {
  std::string path = {};
  TrainingState state = {};
  std::vector<Error> damaged = {};  // newer ones that could not be read
};

// Reads the newest checkpoint in a folder that is whole; nothing where there is none at all. One
// of another step than its name says is taken for damaged. Throws
// where all are damaged, and where one is another network's; then the variables are what they were.
// Another process may be writing checkpoints there meanwhile.
std::optional<RestoredCheckpoint> restore_newest(FileSystem& file_system,
                                                 const std::string& directory,
                                                 Variables& variables);

// The folder of the run that writes them.
class CheckpointFolder {
 public:
  // Makes the folder, and removes what a killed run has left half-written. `keep` > 0 newest
  // checkpoints are kept. Holds a lock on the folder: a second run in it gets Error{busy}.
  CheckpointFolder(FileSystem& file_system, std::string directory, size_t keep = 5);

  const std::string& directory() const { return directory_; }

  // Writes checkpoint-STEP.safetensors, which appears whole or not at all, then removes those
  // before it that are too old (one that can't be removed stays until the next time). On a
  // full disk it removes the oldest of several first, so that there are `keep` again with this one.
  // Makes the
  // folder again where somebody has removed it. Returns its path. Throws what write_checkpoint
  // throws.
  std::string save(const Variables& variables, const TrainingState& state);

  // The same as best.safetensors.
  std::string save_best(const Variables& variables, const TrainingState& state);
  // The validation accuracy of best.safetensors; nothing where there is none that can be read.
  std::optional<double> best_accuracy() const;

  bool has_checkpoint() const { return !list_checkpoints(file_system_, directory_).empty(); }
  // restore_newest(), then removes those before it that are too old.
  std::optional<RestoredCheckpoint> restore(Variables& variables);

 private:
  void open();
  // Removes all but the newest `keep` of those up to the newest that is whole, where that is known.
  // Whether it has removed some.
  bool prune(size_t keep) noexcept;
  std::string best_path() const;

  FileSystem& file_system_;
  const std::string directory_;
  const size_t keep_;
  std::unique_ptr<FileLock> lock_;
  std::optional<uint64_t> newest_whole_;  // the step of what was saved or restored last
};

}  // namespace recordpipe
