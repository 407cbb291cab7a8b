#include "tools/tfrecord/io/display.h"

#include <cstdlib>
#include <string_view>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "recordpipe/base/error.h"
#include "tools/support/process/child_process.h"
#include "tools/support/process/interrupt.h"

namespace recordpipe {
namespace {

// Whether any pager was started: then a closed pipe means that the user has left it.
bool started = false;
// Whether the shell couldn't run the pager, so that the text is lost.
bool not_found = false;

// Whether a program is in a folder of $PATH.
bool is_installed(std::string_view name) {
  const char* const path = std::getenv("PATH");
  std::string_view folders = path == nullptr ? "/usr/bin:/bin" : path;
  while (true) {
    const size_t colon = folders.find(':');
    const std::string file = std::string(folders.substr(0, colon)).append("/").append(name);
    if (::access(file.c_str(), X_OK) == 0) return true;
    if (colon == folders.npos) return false;
    folders.remove_prefix(colon + 1);
  }
}

// The environment with defaults for less and lv, which git sets as well.
class Environment {
 public:
  Environment() {
    for (char** variable = environ; *variable != nullptr; ++variable) all_.emplace_back(*variable);
    add("LESS", "FRX");
    add("LV", "-c");
    for (std::string& each : all_) pointers_.push_back(each.data());
    pointers_.push_back(nullptr);
  }

  char* const* pointers() const { return pointers_.data(); }

 private:
  void add(const char* name, const char* value) {
    if (std::getenv(name) == nullptr) all_.push_back(std::string(name) + "=" + value);
  }

  std::vector<std::string> all_;
  std::vector<char*> pointers_;
};

// The command line of the pager: $PAGER, or less if that is not set and less is installed. Empty
// for no pager: $PAGER is empty or "cat".
std::string pager_command() {
  const char* const given = std::getenv("PAGER");
  if (given == nullptr) return is_installed("less") ? "less" : "";
  return std::string_view(given) == "cat" ? "" : given;
}

std::string_view from_environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool wants_color(const std::string& option, bool is_terminal) {
  if (option != "auto") return option == "always";
  return is_terminal && from_environment("NO_COLOR").empty() && from_environment("TERM") != "dumb";
}

}  // namespace

// From the constructor to the destructor, standard output is a pipe to the pager. Ctrl-C stops the
// program's work, but the program waits until the user leaves the pager, as git does.
class Display::Pager {
 public:
  // Runs the command in a shell, with LESS=FRX unless that is set: less ends by itself if the text
  // fits on the screen, passes colors on, and leaves the text there. Throws Error{io}.
  explicit Pager(const std::string& command) {
    Pipe pipe;
    const Environment environment;
    process_ = start_child({"/bin/sh", "-c", command},
                           {.input = pipe.read_end(), .environment = environment.pointers()});
    started = true;
    standard_output_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    ::dup2(pipe.write_end(), STDOUT_FILENO);
  }
  // Ends the pager's input, and waits until it has ended.
  ~Pager() {
    ::dup2(standard_output_, STDOUT_FILENO);
    ::close(standard_output_);
    const int status = wait_for_child(process_);
    // The statuses of a shell for a command that isn't there or isn't executable.
    not_found = status == 126 || status == 127;
  }
  Pager(const Pager&) = delete;
  Pager& operator=(const Pager&) = delete;

 private:
  const Interrupt::Hold hold_;
  int standard_output_ = -1;
  pid_t process_ = -1;
};

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
  if (!command.empty()) pager_ = std::make_unique<Pager>(command);
}

Display::~Display() = default;

namespace {

ExitCode run_until_left(const std::function<ExitCode()>& command) {
  try {
    return command();
  } catch (const std::system_error& error) {
    if (started && error.code() == std::errc::broken_pipe) return ExitCode::ok;
    throw;
  }
}

}  // namespace

ExitCode with_pager(const std::function<ExitCode()>& command) {
  const ExitCode status = run_until_left(command);
  if (!not_found) return status;
  throw Error({.kind = ErrorKind::io,
               .reason = "the pager $PAGER can't be run",
               .hint = "--no-pager prints directly"});
}

}  // namespace recordpipe
