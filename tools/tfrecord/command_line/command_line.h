// tfrecord's command line, put together from its subcommands.
#pragma once

#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/command_line/command_app.h"

namespace recordpipe {

struct ChosenCommand {
  std::string name;
  CommandAction run;
};

class CommandLine {
 public:
  CommandLine();

  CLI::App& app() { return app_; }
  // "tfrecord show", or "tfrecord" where no subcommand was reached.
  std::string name_so_far() const;
  // Why a command line whose first word is `first` couldn't be parsed.
  std::string reason(const CLI::ParseError& error, const std::string& first) const;
  // The subcommand that was parsed. It doesn't run where its result would take an input's place.
  ChosenCommand chosen() const;

 private:
  struct Defined {
    CommandApp* app;
    CommandAction run;
  };

  CLI::App app_;
  std::vector<Defined> commands_;
};

}  // namespace recordpipe
