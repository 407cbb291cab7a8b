// Where results may not go.
#pragma once

#include "recordpipe/file.h"
#include "tools/tfrecord/command_line/cli_forward.h"

namespace recordpipe {

// For a command line that was parsed. Throws UsageError where an output's name is empty or leads to
// standard output, and where a file that is read would be replaced by the result, or by a shard of
// it, or grow by what goes to standard output. Files are told apart by what they are, not by their
// names.
void require_sound_output(FileSystem& files, const CommandApp& app);

}  // namespace recordpipe
