// What a subcommand of tfrecord is: a file of its own with one function that returns a Command
// (commands.h), of which the command line, --help, the man page and the shells' completions are
// made.
#pragma once

#include <functional>
#include <stdexcept>
#include <stop_token>
#include <string>

#include "dataset/applications/process/terminal_progress.h"
#include "recordpipe/file.h"
#include "tools/tfrecord/command_line/cli_forward.h"
#include "tools/tfrecord/command_line/exit_code.h"

namespace recordpipe {

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

}  // namespace recordpipe
