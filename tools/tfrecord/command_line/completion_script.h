// Scripts that teach a shell tfrecord's subcommands, options and their values.
#pragma once

#include <string>
#include <vector>

#include "tools/tfrecord/command_line/command_text.h"

namespace recordpipe {

// For bash 4.4 and later, with nothing else installed.
std::string bash_completion(const std::vector<CommandText>& commands);
// For zsh with compinit: sourced, or as _tfrecord in a folder of fpath.
std::string zsh_completion(const std::vector<CommandText>& commands);

}  // namespace recordpipe
