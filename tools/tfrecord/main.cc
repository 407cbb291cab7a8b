// tfrecord: inspects, checks, repairs and converts TFRecord files. Each subcommand has its own
// file; this one parses the command line and turns exceptions into a message and an exit status.
#include <algorithm>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>

#include "dataset/base/one_line.h"
#include "dataset/toolkit/names.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/version.h"
#include "recordpipe/decompression/more_compressions.h"
#include "recordpipe/http/file_system.h"
#include "recordpipe/object_store/file_system.h"
#include "tools/support/command_line/argument_parser.h"
#include "tools/support/process/interrupt.h"
#include "tools/support/process/terminal_progress.h"
#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/command_line/command_text.h"
#include "tools/tfrecord/commands/commands.h"
#include "tools/tfrecord/io/output.h"
#include "tools/tfrecord/io/standard_streams.h"

namespace recordpipe {
namespace {

struct ChosenCommand {
  std::string name;
  CommandAction run;
};

class CommandLine {
 public:
  // Knows the options of the commands that `arguments` name.
  explicit CommandLine(const std::vector<std::string>& arguments);

  // Returns the text to print for --help and --version; otherwise there is a chosen() subcommand.
  std::optional<std::string> parse(const std::vector<std::string>& arguments) {
    const auto text = parser_.parse(arguments);
    if (!text) reached()->app->check();
    return text;
  }
  // "tfrecord show", or "tfrecord" if no subcommand was reached.
  std::string name_so_far() const;
  // The reason why a command line with the first word `first` couldn't be parsed.
  std::string reason(const ArgumentError& error, const std::string& first) const;
  // The parsed subcommand. It refuses to run if its result would replace an input.
  ChosenCommand chosen() const;

 private:
  struct Defined {
    std::unique_ptr<CommandApp> app;
    CommandAction run;
  };

  // The subcommand that was reached; null if none was.
  const Defined* reached() const;

  ArgumentParser parser_;
  std::vector<Defined> commands_;
};

// Maximum edit distance that counts as a typing error.
constexpr size_t kMaxEdits = 2;

CommandLine::CommandLine(const std::vector<std::string>& arguments) : parser_("tfrecord") {
  parser_.set_version(fmt::format("tfrecord {}", RECORDPIPE_VERSION));
  // The first of both counts; what follows -- is a file.
  const auto end = std::ranges::find(arguments, "--");
  const auto help = std::find_if(arguments.begin(), end, [](const std::string& argument) {
    return argument == "-h" || argument == "--help";
  });
  const HelpLength length = help != end && *help == "-h" ? HelpLength::brief : HelpLength::full;
  parser_.set_help([length] { return help_text(all_command_texts(), length); });
  for (const Command& command : all_commands()) {
    auto app = std::make_unique<CommandApp>(command.name, command.summary);
    parser_.add_subcommand(*app);
    // The options of all commands would take a fifth of the time of a start.
    const bool may_run = std::ranges::find(arguments, command.name) != arguments.end();
    CommandAction run = may_run ? command.define(*app) : nullptr;
    app->set_help([command, app = app.get(), length] {
      return help_text(command_text(command, *app), length);
    });
    commands_.push_back({std::move(app), std::move(run)});
  }
}

const CommandLine::Defined* CommandLine::reached() const {
  const auto found =
      std::ranges::find_if(commands_, [](const Defined& command) { return command.app->parsed(); });
  return found == commands_.end() ? nullptr : &*found;
}

std::string CommandLine::name_so_far() const {
  const Defined* const command = reached();
  return command == nullptr ? "tfrecord" : "tfrecord " + command->app->name();
}

std::string CommandLine::reason(const ArgumentError& error, const std::string& first) const {
  const bool is_word = !first.empty() && first.front() != '-';
  if (reached() != nullptr || !(first.empty() || is_word)) return error.what();
  std::string names;
  for (const Defined& command : commands_) {
    const std::string& name = command.app->name();
    if (is_word && edits(first, name) <= kMaxEdits) {
      return fmt::format("unknown command '{}'; did you mean '{}'?", printable(first), name);
    }
    names += (names.empty() ? "" : ", ") + name;
  }
  return is_word ? fmt::format("unknown command '{}'; commands: {}", printable(first), names)
                 : "missing command; commands: " + names;
}

ChosenCommand CommandLine::chosen() const {
  const Defined* const command = reached();
  if (command == nullptr) throw UsageError("no command was given");
  return {command->app->name(), [command](const CommandContext& context) {
            require_sound_output(context, *command->app);
            return command->run(context);
          }};
}

constexpr int status_of(ExitCode code) { return static_cast<int>(code); }

// Not fmt::print, which throws if standard error can't be written: the exit status still reports
// the error.
int fail(const std::string& name, const char* what, int status) {
  std::fprintf(stderr, "tfrecord %s: %s\n", name.c_str(), one_line(what).c_str());
  return status;
}

// The exit status that a shell reports for a program killed by SIGPIPE.
constexpr int kExitClosedPipe = 128 + SIGPIPE;

// The reader has closed the pipe: this is not an error.
bool is_closed_pipe(const std::exception& error) {
  const auto* const failure = dynamic_cast<const std::system_error*>(&error);
  return failure != nullptr && failure->code() == std::errc::broken_pipe;
}

int run_command(const ChosenCommand& chosen, const Interrupt& interrupt) {
  read_more_compressions();
  // Scripts parse the output: no plain progress lines.
  TerminalProgress progress(/*quiet=*/false, /*lines=*/false);
  const HttpReadOptions options{
      .http = {.stop = interrupt.token()},
      .notice = [&progress](std::string_view what) { progress.note(std::string(what)); }};
  HttpFileSystem files(posix_file_system(), options);
  ObjectStoreFileSystem all_files(files, {.http = options});
  try {
    return status_of(chosen.run({all_files, progress, interrupt.token()}));
  } catch (const UsageError& error) {
    progress.clear();
    return fail(chosen.name, error.what(), status_of(ExitCode::trouble));
  } catch (const Error& error) {
    progress.clear();
    const bool interrupted = error.kind() == ErrorKind::cancelled && interrupt.exit_code() != 0;
    return fail(chosen.name, text_of(error).c_str(),
                interrupted ? interrupt.exit_code() : status_of(ExitCode::trouble));
  } catch (const std::bad_alloc&) {
    progress.clear();
    return fail(chosen.name, "out of memory", status_of(ExitCode::trouble));
  } catch (const std::exception& error) {
    progress.clear();
    if (is_closed_pipe(error)) return kExitClosedPipe;
    return fail(chosen.name, error.what(), status_of(ExitCode::trouble));
  }
}

// Blocks of records and their text are allocated and freed a thousand times a second. By default
// the allocator returns memory of their size to the system at once, and each page must be faulted
// in again: more than half of the time of `show --json`. Memory kept by one arena can't be used by
// another, so there are few arenas (the default is eight per core).
void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kKept = 32 << 20;
  mallopt(M_MMAP_THRESHOLD, kKept);
  mallopt(M_TRIM_THRESHOLD, kKept);
  mallopt(M_TOP_PAD, 4 << 20);
  mallopt(M_ARENA_MAX, 4);
#endif
}

// A shuffle writes 256 temporary files, and an archive may hold thousands of arrays: raises the
// soft limit to the hard limit.
void raise_open_file_limit() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// "tfrecord help show" is "tfrecord show --help", and "tfrecord help" is "tfrecord --help".
std::vector<std::string> without_help_command(std::vector<std::string> arguments) {
  if (arguments.empty() || arguments.front() != "help") return arguments;
  if (arguments.size() == 1) return {"--help"};
  // An unknown command is reported like any other.
  const std::vector<Command> commands = all_commands();
  const bool is_command = std::ranges::any_of(
      commands, [&](const Command& command) { return command.name == arguments[1]; });
  if (!is_command) return {arguments[1]};
  return {arguments[1], "--help"};
}

// "tfrecord head -5 FILE" is "tfrecord head -n 5 FILE", as for head(1) and tail(1).
std::vector<std::string> with_named_count(std::vector<std::string> arguments) {
  if (arguments.size() < 2 || (arguments[0] != "head" && arguments[0] != "tail")) return arguments;
  const std::string& count = arguments[1];
  const bool is_count = count.size() > 1 && count.front() == '-' &&
                        count.find_first_not_of("0123456789", 1) == count.npos;
  if (!is_count) return arguments;
  arguments[1] = count.substr(1);
  arguments.insert(arguments.begin() + 1, "-n");
  return arguments;
}

// Prints why the command line can't be parsed. Errors repeat words, so the line is parsed again
// with URLs that have no secrets.
int fail_to_parse(std::vector<std::string> words) {
  for (std::string& word : words) word = shown_word(word);
  CommandLine line(words);
  std::string reason = "a URL where none is expected";
  try {
    line.parse(words);
  } catch (const ArgumentError& error) {
    reason = line.reason(error, words.empty() ? "" : words.front());
  }
  const std::string program = line.name_so_far();
  std::fprintf(stderr, "%s: %s\n\"%s --help\" says more\n", program.c_str(),
               one_line(reason).c_str(), program.c_str());
  return status_of(ExitCode::trouble);
}

int run(int argc, char** argv) {
  open_standard_descriptors();
  keep_freed_memory();
  raise_open_file_limit();
  // libarchive converts the names in .npz files by the locale's character set.
  std::setlocale(LC_CTYPE, "C.UTF-8");
  const Interrupt interrupt;
  const std::vector<std::string> arguments =
      with_named_count(without_help_command(arguments_of(argc, argv)));
  CommandLine line(arguments);
  try {
    if (const auto text = line.parse(arguments)) {
      print(*text);
      return status_of(ExitCode::ok);
    }
  } catch (const ArgumentError&) {
    return fail_to_parse(arguments);
  }
  return run_command(line.chosen(), interrupt);
}

}  // namespace

}  // namespace recordpipe

int main(int argc, char** argv) {
  try {
    return recordpipe::run(argc, argv);
  } catch (const std::exception& error) {
    if (recordpipe::is_closed_pipe(error)) return recordpipe::kExitClosedPipe;
    // For example, the thread for signals couldn't be started.
    std::fprintf(stderr, "tfrecord: %s\n", error.what());
    return recordpipe::status_of(recordpipe::ExitCode::trouble);
  }
}
