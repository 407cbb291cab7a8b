// What a subcommand of tfrecord is: a file of its own with one function that returns a Command
// (commands.h), of which the command line, --help, the man page and the shells' completions are
// made; and how it ends: exit codes, and errors in terms of its options.
#pragma once

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <stop_token>
#include <string>

#include "dataset/applications/process/terminal_progress.h"
#include "recordpipe/error.h"
#include "recordpipe/file.h"
#include "recordpipe/toolkit/damaged_region.h"

// Its names are enough for headers: all of CLI11 takes seconds to compile.
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace recordpipe {

class CommandApp;

// What a running subcommand has to work with.
struct CommandContext {
  // Local paths; http(s) URLs to read from.
  FileSystem& files;
  TerminalProgress& progress;
  // Requested by Ctrl-C, SIGTERM and SIGHUP: work ends with Error{cancelled}.
  std::stop_token stop;
};

// Throw it for a mistake in the arguments that only shows when they are used together.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

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

// Runs a subcommand whose command line was parsed. An Error that leaves it is ExitCode::trouble.
using CommandAction = std::function<ExitCode(const CommandContext&)>;

struct Command {
  std::string name = {};
  std::string summary = {};      // a line: "Says what is in a file"
  std::string description = {};  // paragraphs, without the summary
  std::string examples = {};     // command lines, each indented by two spaces
  // When it returns ExitCode::no: "a file is damaged". Empty: never.
  std::string answers_no = {};
  // Adds the options to `app`. What it returns owns the values they are parsed into.
  std::function<CommandAction(CommandApp& app)> define = {};
};

// All of an error, for standard error: its hint names options instead of the library's settings,
// and, for damaged records, what can be done about them.
std::string text_of(const Error& error);

// The hint of a region, for commands that look for damage and so check every CRC.
std::string hint_of(const DamagedRegion& region);

}  // namespace recordpipe
