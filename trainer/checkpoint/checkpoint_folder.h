// The checkpoints of a training run: JOB_DIR/checkpoint-STEP.safetensors.
//
// A checkpoint holds every variable under its name and, for those that are trained, the momentum
// as NAME/momentum, all float32 and in the shapes that VariableSpec states; and as metadata the
// step, and a CRC-32C over everything, without which a flipped bit would be a weight like any
// other. Its bytes depend on nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dataset/base/error.h"
#include "dataset/io/file.h"
#include "trainer/backend/variables.h"

namespace recordpipe {

struct RestoredCheckpoint {
  std::string path;
  uint64_t step = 0;
  std::vector<Error> damaged = {};  // newer ones that could not be read
};

class CheckpointFolder {
 public:
  // Makes the folder, and removes what a killed run has left half-written. `keep` > 0 newest
  // checkpoints are kept. Holds a lock on the folder: a second run in it gets Error{busy}.
  CheckpointFolder(FileSystem& file_system, std::string directory, size_t keep = 5);

  // Writes a checkpoint that appears whole or not at all, then removes those before it that are too
  // old. Returns its path. Throws Error{invalid_argument}, and writes nothing, where a number is
  // not finite: the checkpoint before is the one to go on from.
  std::string save(const Variables& variables, uint64_t step);

  // Reads the newest checkpoint that is whole; nothing where there is none at all. Throws where all
  // are damaged, and where one is another network's; then the variables are what they were.
  std::optional<RestoredCheckpoint> restore(Variables& variables) const;

 private:
  struct Entry {
    uint64_t step;
    std::string path;
  };
  std::vector<Entry> list() const;  // the newest first

  FileSystem& file_system_;
  const std::string directory_;
  const size_t keep_;
  std::unique_ptr<FileLock> lock_;
};

}  // namespace recordpipe
