// What a subcommand of tfrecord is: a file of its own with one function that returns a Command
// (commands.h), of which the command line, --help, the man page and the shells' completions are
// made.
#pragma once

#include <functional>
#include <stdexcept>
#include <stop_token>
#include <string>

#include "dataset/io/file.h"
#include "tools/terminal_progress.h"
#include "tools/tfrecord/cli_forward.h"

namespace recordpipe {

// What a running subcommand has to work with.
struct CommandContext {
  // Local paths; http(s) URLs to read from.
  FileSystem& files;
  TerminalProgress& progress;
  // Requested by Ctrl-C, SIGTERM and SIGHUP: work ends with Error{cancelled}.
  std::stop_token stop;
};

// Exit statuses that scripts rely on.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;  // damage, differences, or an error that was printed
inline constexpr int kExitUsage = 2;   // a command line that makes no sense

// Throw it for a mistake in the arguments that only shows when they are used together.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Runs a subcommand whose command line was parsed; returns the exit status.
using CommandAction = std::function<int(const CommandContext&)>;

struct Command {
  std::string name = {};
  std::string summary = {};      // a line: "Says what is in a file"
  std::string description = {};  // paragraphs, without the summary
  std::string examples = {};     // command lines, each indented by two spaces
  // Whether -o may name an input, as the command was called: what is written is its records again,
  // all of them. Never, where it is empty.
  std::function<bool(const CLI::App& app)> replaces_input = {};
  // Adds the options to `app`. What it returns owns the values they are parsed into.
  std::function<CommandAction(CLI::App& app)> define = {};
};

}  // namespace recordpipe
