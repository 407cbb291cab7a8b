// tfrecord man: its man pages.
#include <algorithm>
#include <memory>
#include <string>

#include "recordpipe/error.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/command_line/man_page.h"
#include "tools/tfrecord/commands/commands.h"
#include "tools/tfrecord/io/output.h"

namespace recordpipe {
namespace {

struct Arguments {
  std::string command = {};
  std::string folder = {};
  std::string output = {};
};

void write_page(const CommandContext& context, const std::string& path, const std::string& page) {
  Output out(context, path);
  out.write(page);
  out.close();
}

void write_all(const CommandContext& context, const std::string& folder,
               const std::vector<CommandText>& commands) {
  context.files.make_directories(folder);
  write_page(context, folder + "/tfrecord.1", man_page(commands));
  for (const CommandText& command : commands) {
    write_page(context, folder + "/tfrecord-" + command.name + ".1", man_page(command));
  }
}

ExitCode run(const Arguments& arguments, const CommandContext& context) {
  const std::vector<CommandText> commands = all_command_texts();
  if (!arguments.folder.empty()) {
    if (!arguments.command.empty()) throw UsageError("--all is for all commands, not for one");
    write_all(context, arguments.folder, commands);
    return ExitCode::ok;
  }
  const auto found = std::ranges::find(commands, arguments.command, &CommandText::name);
  if (found == commands.end() && !arguments.command.empty()) {
    throw UsageError("unknown command '" + printable(arguments.command) + "'");
  }
  write_page(context, arguments.output,
             found == commands.end() ? man_page(commands) : man_page(*found));
  return ExitCode::ok;
}

}  // namespace

Command man_command() {
  return {.name = "man",
          .summary = "Prints a man page, in roff",
          .description = "The program's, or a command's. They are made of the same text as --help.",
          .examples = R"(  tfrecord man index | man -l -
  tfrecord man --all ~/.local/share/man/man1
)",
          .define = [](CommandApp& app) -> CommandAction {
            const auto arguments = std::make_shared<Arguments>();
            std::string names;
            for (const Command& command : all_commands()) {
              names.append(names.empty() ? "" : "|").append(command.name);
            }
            app.add_option("COMMAND", arguments->command, "The command; without it, the program")
                ->type_name(names);
            app.add_option("--all", arguments->folder, "Write all pages into a folder instead")
                ->type_name("FOLDER");
            add_output(app, arguments->output);
            return [arguments](const CommandContext& context) { return run(*arguments, context); };
          }};
}

}  // namespace recordpipe
