// tfrecord completion: a script for a shell.
#include <memory>
#include <string>

#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/command_line/completion_script.h"
#include "tools/tfrecord/commands/commands.h"
#include "tools/tfrecord/io/output.h"

namespace recordpipe {
namespace {

struct Arguments {
  std::string shell = {};
  std::string output = {};
};

ExitCode run(const Arguments& arguments, const CommandContext& context) {
  Output out(context, arguments.output);
  const std::vector<CommandText> commands = all_command_texts();
  out.write(arguments.shell == "bash" ? bash_completion(commands) : zsh_completion(commands));
  out.close();
  return ExitCode::ok;
}

}  // namespace

Command completion_command() {
  return {.name = "completion",
          .summary = "Prints a script that completes tfrecord's command lines",
          .description = "For subcommands, options, their values, and files.",
          .examples =
              R"(  source <(tfrecord completion bash)              # this shell, or ~/.bashrc
  tfrecord completion zsh > ~/.zfunc/_tfrecord    # a folder of zsh's fpath
)",
          .define = [](CommandApp& app) -> CommandAction {
            const auto arguments = std::make_shared<Arguments>();
            app.add_option("SHELL", arguments->shell, "bash or zsh")
                ->required()
                ->check(CLI::IsMember({"bash", "zsh"}).description(""))
                ->type_name("bash|zsh");
            add_output(app, arguments->output);
            return [arguments](const CommandContext& context) { return run(*arguments, context); };
          }};
}

}  // namespace recordpipe
