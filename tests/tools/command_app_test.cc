// Tests that every subcommand declares the files on its command line.
#include "tools/tfrecord/command_line/command_app.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tools/tfrecord/commands/commands.h"

namespace recordpipe {
namespace {

bool is_declared(const CommandApp& app, const Option& option) {
  return std::ranges::find(app.inputs(), option, &InputOption::option) != app.inputs().end() ||
         std::ranges::find(app.outputs(), option, &OutputOption::option) != app.outputs().end();
}

// Whether the option's value is a file, or a folder for the results. A positional argument is one,
// unless it accepts only a set of words or is an expression.
bool names_a_file(const OptionFacts& facts) {
  if (facts.names.front() == "EXPR") return false;
  if (facts.names.front() == "--to-dir") return true;
  if (facts.type_name.find('|') != facts.type_name.npos) return false;
  return facts.is_argument || facts.type_name.find("FILE") != facts.type_name.npos;
}

TEST(CommandApp, EveryOptionThatNamesAFileIsDeclared) {
  for (const Command& command : all_commands()) {
    CommandApp app;
    const CommandAction owner = command.define(app);
    for (const Option& option : app.options()) {
      const OptionFacts facts = option.facts();
      EXPECT_EQ(names_a_file(facts), is_declared(app, option))
          << command.name << " " << facts.names.front();
    }
    EXPECT_EQ(app.outputs().size(), app.find("--to-dir") ? 2U : 1U) << command.name;
  }
}

}  // namespace
}  // namespace recordpipe
