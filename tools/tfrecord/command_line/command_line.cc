#include "tools/tfrecord/command_line/command_line.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>

// All of CLI11 here only: with its formatter each file takes two seconds longer to compile.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "dataset/toolkit/selection/nearest_names.h"
#include "recordpipe/error.h"
#include "recordpipe/version.h"
#include "tools/tfrecord/command_line/command_text.h"
#include "tools/tfrecord/command_line/help_text.h"
#include "tools/tfrecord/commands/commands.h"
#include "tools/tfrecord/io/output_check.h"

namespace recordpipe {
namespace {

// Help that is made when it is asked for.
class HelpFormatter final : public CLI::FormatterBase {
 public:
  explicit HelpFormatter(std::function<std::string()> make) : make_(std::move(make)) {}

  std::string make_help(const CLI::App*, std::string, CLI::AppFormatMode) const override {
    return make_();
  }

 private:
  std::function<std::string()> make_;
};

// As many are mistakes of typing.
constexpr size_t kMostEdits = 2;

}  // namespace

CommandLine::CommandLine() : app_("", "tfrecord") {
  app_.set_version_flag("--version", fmt::format("tfrecord {}", RECORDPIPE_VERSION));
  app_.require_subcommand(1);
  app_.formatter(std::make_shared<HelpFormatter>([] { return help_text(all_command_texts()); }));
  for (const Command& command : all_commands()) {
    const auto owned = std::make_shared<CommandApp>(command.summary, command.name);
    app_.add_subcommand(owned);
    CommandApp* const app = owned.get();
    commands_.push_back({app, command.define(*app)});
    app->formatter(std::make_shared<HelpFormatter>(
        [command, app] { return help_text(command_text(command, *app)); }));
  }
}

std::string CommandLine::name_so_far() const {
  const auto parsed = app_.get_subcommands();
  return parsed.empty() ? "tfrecord" : "tfrecord " + parsed.front()->get_name();
}

std::string CommandLine::reason(const CLI::ParseError& error, const std::string& first) const {
  const bool is_word = !first.empty() && first.front() != '-';
  if (!app_.get_subcommands().empty() || !(first.empty() || is_word)) return error.what();
  std::string names;
  for (const Defined& command : commands_) {
    const std::string& name = command.app->get_name();
    if (is_word && edits(first, name) <= kMostEdits) {
      return fmt::format("unknown command '{}'; did you mean '{}'?", printable(first), name);
    }
    names += (names.empty() ? "" : ", ") + name;
  }
  return is_word ? fmt::format("unknown command '{}'; commands: {}", printable(first), names)
                 : "missing command; commands: " + names;
}

ChosenCommand CommandLine::chosen() const {
  for (const Defined& command : commands_) {
    if (!command.app->parsed()) continue;
    return {command.app->get_name(), [&command](const CommandContext& context) {
              require_sound_output(context.files, *command.app);
              return command.run(context);
            }};
  }
  throw UsageError("no command was given");
}

}  // namespace recordpipe
