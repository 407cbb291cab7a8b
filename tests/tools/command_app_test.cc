// Tests that every subcommand declares the files on its command line.
#include "tools/tfrecord/command_line/command_app.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tools/tfrecord/commands/commands.h"

namespace recordpipe {
namespace {

bool is_declared(const CommandApp& app, const CLI::Option* option) {
  return std::ranges::find(app.inputs(), option, &InputOption::option) != app.inputs().end() ||
         std::ranges::find(app.outputs(), option, &OutputOption::option) != app.outputs().end();
}

// Whether the option's value is a file. A positional argument is one, unless it accepts only a set
// of words.
bool names_a_file(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (type.find('|') != type.npos) return false;
  return option.get_positional() || type.find("FILE") != type.npos;
}

TEST(CommandApp, EveryOptionThatNamesAFileIsDeclared) {
  for (const Command& command : all_commands()) {
    CommandApp app;
    const CommandAction owner = command.define(app);
    for (const CLI::Option* const option : app.get_options()) {
      EXPECT_EQ(names_a_file(*option), is_declared(app, option))
          << command.name << " " << option->get_name(true, true);
    }
    EXPECT_EQ(app.outputs().size(), 1U) << command.name;
  }
}

}  // namespace
}  // namespace recordpipe
