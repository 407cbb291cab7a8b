// Man pages, in roff's man macros.
#pragma once

#include <string>
#include <vector>

#include "tools/tfrecord/command_line/command_text.h"

namespace recordpipe {

// tfrecord-NAME(1).
std::string man_page(const CommandText& command);
// tfrecord(1).
std::string man_page(const std::vector<CommandText>& commands);

}  // namespace recordpipe
