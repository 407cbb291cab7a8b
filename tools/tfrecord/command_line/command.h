// A subcommand of tfrecord: defined in its own file by one function that returns a Command
// (commands.h). The command line, --help, the man page and the shells' completions are made from
// it. Also exit codes, and errors in terms of the options.
#pragma once

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>

#include "recordpipe/base/error.h"
#include "recordpipe/io/file.h"
#include "recordpipe/record/damaged_region.h"
#include "tools/support/process/terminal_progress.h"

namespace recordpipe {

class CommandApp;

// The environment of a running subcommand.
struct CommandContext {
  // Local paths; http(s), s3 and gs URLs to read from.
  FileSystem& files;
  TerminalProgress& progress;
  // Requested by Ctrl-C, SIGTERM and SIGHUP: work ends with Error{cancelled}.
  std::stop_token stop;
};

// Thrown for arguments that contradict each other, or are invalid only in combination.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class ExitCode {
  ok = 0,       // success; if the command answers a question, the answer is yes
  no = 1,       // success, but the answer is no: damage, a difference, no record selected
  trouble = 2,  // wrong usage, an unreadable input, or no output
};

// For several inputs: the higher code.
constexpr ExitCode combined(ExitCode a, ExitCode b) { return std::max(a, b); }

// For commands whose answer is "damaged" for a damaged input. In other commands, an Error is
// trouble.
constexpr ExitCode answer_of(ErrorKind kind) {
  return is_damage(kind) ? ExitCode::no : ExitCode::trouble;
}

// The exit codes in words, for --help and the man pages. `no` is the condition for ExitCode::no ("a
// file is damaged"); empty if there is none.
std::string exit_statuses(const std::string& no);
// The same for all commands together.
inline constexpr char kAnswersNo[] =
    "a negative result: damage, a difference, or no record selected";

// Runs a subcommand whose command line was parsed. An uncaught Error becomes ExitCode::trouble.
using CommandAction = std::function<ExitCode(const CommandContext&)>;

struct Command {
  std::string name = {};
  std::string summary = {};      // one line: "Says what is in a file"
  std::string description = {};  // paragraphs, without the summary
  std::string examples = {};     // command lines, each indented by two spaces
  // The condition for ExitCode::no: "a file is damaged". Empty: never.
  std::string answers_no = {};
  // Adds the options to `app`. The returned action owns the values they are parsed into.
  std::function<CommandAction(CommandApp& app)> define = {};
};

// The complete message of an error, for standard error: its hint names options instead of the
// library's settings, and, for damaged records, the possible remedies.
std::string text_of(const Error& error);

// Returns a word of the command line without the secrets of the URLs in it. A word may be a list,
// or have a blank in a password: then nothing of its URLs but the scheme is left.
std::string shown_word(std::string_view word);

// The hint for a damaged region, for commands that search for damage and so check every CRC.
std::string hint_of(const DamagedRegion& region);

}  // namespace recordpipe
