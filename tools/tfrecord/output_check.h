// Where results may not go.
#pragma once

#include <string>
#include <vector>

#include "dataset/io/file.h"
#include "tools/tfrecord/cli_forward.h"

namespace recordpipe {

// For a command line that was parsed. Throws UsageError where -o is empty or leads to standard
// output, and where a file that is read would be replaced by the result, or by a shard of it, or
// grow by what goes to standard output. Files are told apart by what they are, not by their names.
// `replaces_input`: the result may take the place of an input, for it holds the same records.
void require_sound_output(FileSystem& files, const CLI::App& app, bool replaces_input);

// Throws UsageError where one of these outputs, which have names of their own, is one of the
// inputs.
void require_not_read(const std::vector<std::string>& inputs,
                      const std::vector<std::string>& outputs);

}  // namespace recordpipe
