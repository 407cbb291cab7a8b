// Where results may not go.
#pragma once

#include "dataset/io/file.h"
#include "tools/tfrecord/cli_forward.h"

namespace recordpipe {

// For a command line that was parsed. Throws UsageError where -o is empty, names standard output as
// a device, or names one of the files that are read: the result would take its place.
// `replaces_input`: it may, for it is of the same kind.
void require_sound_output(FileSystem& files, const CLI::App& app, bool replaces_input);

}  // namespace recordpipe
