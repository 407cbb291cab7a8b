// NumPy's .npz files: zip archives of .npy files, stored or deflated.
#pragma once

#include <string>
#include <vector>

#include "recordpipe/temporary_file.h"
#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/formats/npy_format.h"
#include "tools/tfrecord/io/input_progress.h"

namespace recordpipe {

struct NpzArray {
  std::string name = {};  // the member's, without ".npy"
  NpyHeader header = {};
  TemporaryFile values;  // row after row
};

// All arrays of the file or URL at `path`, inflated to temporary files in `directory`; the bytes
// that are read count in `progress`. Names are used for nothing here. Throws Error with
// "PATH:MEMBER": what parse_npy_header throws, truncated and corrupted for a member that is not as
// long as its header says, corrupted for a damaged zip file and for a name that comes twice;
// cancelled once a stop was requested; what reading throws.
std::vector<NpzArray> read_npz(const CommandContext& context, const std::string& path,
                               const std::string& directory, InputProgress& progress);

}  // namespace recordpipe
