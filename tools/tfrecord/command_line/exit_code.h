// The exit statuses of all subcommands.
#pragma once

#include <algorithm>
#include <string>

#include "recordpipe/error.h"

namespace recordpipe {

enum class ExitCode {
  ok = 0,       // done; if the command answers a question, the answer is yes
  no = 1,       // done, and the answer is no: damage, a difference, no record selected
  trouble = 2,  // wrong usage, an input that can't be read, or no output
};

// For several inputs: the higher one.
constexpr ExitCode combined(ExitCode a, ExitCode b) { return std::max(a, b); }

// For commands that report a damaged input as their answer. Elsewhere an Error is trouble.
constexpr ExitCode answer_of(ErrorKind kind) {
  return is_damage(kind) ? ExitCode::no : ExitCode::trouble;
}

// The contract in words, for --help and the man pages. `no` says when a command answers no
// ("a file is damaged"); empty where it never does.
std::string exit_statuses(const std::string& no);
// The same for all commands together.
inline constexpr char kAnswersNo[] =
    "the answer is no: damage, a difference, or no record selected";

}  // namespace recordpipe
