// --help, for people: at most 90 columns, options aligned, examples last.
#pragma once

#include <string>
#include <vector>

#include "tools/tfrecord/command_line/command_text.h"

namespace recordpipe {

std::string help_text(const CommandText& command);
// The program's own, with a line for each command.
std::string help_text(const std::vector<CommandText>& commands);

}  // namespace recordpipe
