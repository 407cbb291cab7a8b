// One input after another, where what is wrong with one doesn't keep the others from their turn.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/tfrecord/command.h"

namespace recordpipe {

// Calls `action` for each path and returns the highest exit status that came back. An Error of one
// is printed and counts as kExitFailed; Error{cancelled} ends it all.
int for_each_input(const CommandContext& context, std::string_view command,
                   const std::vector<std::string>& paths,
                   const std::function<int(const std::string& path)>& action);

}  // namespace recordpipe
