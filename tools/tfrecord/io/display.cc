#include "tools/tfrecord/io/display.h"

#include <cstdlib>
#include <string_view>
#include <system_error>

#include <unistd.h>

#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

std::string_view from_environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool wants_color(const std::string& option, bool is_terminal) {
  if (option != "auto") return option == "always";
  return is_terminal && from_environment("NO_COLOR").empty() && from_environment("TERM") != "dumb";
}

}  // namespace

void add_display(ArgumentParser& app, DisplayArguments& arguments) {
  app.add_option("--color", arguments.color,
                 "Colors of text; auto: on a terminal, unless NO_COLOR is set")
      .one_of({"auto", "always", "never"})
      .default_text("auto");
  add_pager(app, arguments);
}

void add_pager(ArgumentParser& app, DisplayArguments& arguments) {
  app.add_flag("--no-pager", arguments.no_pager,
               "Print directly on a terminal, not in $PAGER (default: less)");
}

Display::Display(const CommandContext& context, const DisplayArguments& arguments,
                 const std::string& output) {
  const bool is_terminal = output == "-" && ::isatty(STDOUT_FILENO) != 0;
  colored_ = wants_color(arguments.color, is_terminal);
  if (!is_terminal) return;
  context.progress.hide();
  const std::string command = arguments.no_pager ? "" : pager_command();
  if (!command.empty()) pager_.emplace(command);
}

namespace {

ExitCode run_until_left(const std::function<ExitCode()>& command) {
  try {
    return command();
  } catch (const std::system_error& error) {
    if (Pager::was_started() && error.code() == std::errc::broken_pipe) return ExitCode::ok;
    throw;
  }
}

}  // namespace

ExitCode with_pager(const std::function<ExitCode()>& command) {
  const ExitCode status = run_until_left(command);
  if (!Pager::was_not_found()) return status;
  throw Error({.kind = ErrorKind::io,
               .reason = "the pager $PAGER can't be run",
               .hint = "--no-pager prints directly"});
}

}  // namespace recordpipe
