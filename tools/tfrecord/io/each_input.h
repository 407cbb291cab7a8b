// One input after another, where what is wrong with one doesn't keep the others from their turn.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/tfrecord/command_line/command.h"

namespace recordpipe {

// Calls `action` for each path and returns the highest exit code. An Error of one is printed and
// counts as what `code_of` makes of its kind; Error{cancelled} ends it all.
ExitCode for_each_input(
    const CommandContext& context, std::string_view command, const std::vector<std::string>& paths,
    const std::function<ExitCode(const std::string& path)>& action,
    const std::function<ExitCode(ErrorKind)>& code_of = [](ErrorKind) {
      return ExitCode::trouble;
    });

}  // namespace recordpipe
