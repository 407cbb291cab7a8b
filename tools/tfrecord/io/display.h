// How text is shown on a terminal: in colors, and in a pager. The options --color and --no-pager.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tools/support/command_line/argument_parser.h"
#include "tools/tfrecord/command_line/command.h"

namespace recordpipe {

struct DisplayArguments {
  std::string color = "auto";
  bool no_pager = false;
};

// Adds --color and --no-pager.
void add_display(ArgumentParser& app, DisplayArguments& arguments);
// Adds --no-pager.
void add_pager(ArgumentParser& app, DisplayArguments& arguments);

// Begins to show a command's result. On a terminal it starts the pager and hides the progress bar;
// if the result goes elsewhere, it does nothing. Must be created before the Output, and when no
// usage error is possible any more.
class Display {
 public:
  // `output`: the path that -o names; "-" for standard output.
  Display(const CommandContext& context, const DisplayArguments& arguments,
          const std::string& output);
  ~Display();
  Display(const Display&) = delete;
  Display& operator=(const Display&) = delete;

  // --color; by default, only on a terminal, unless $NO_COLOR is set (https://no-color.org) or
  // $TERM is "dumb".
  bool colored() const { return colored_; }

 private:
  class Pager;

  bool colored_ = false;
  std::unique_ptr<Pager> pager_;
};

// Runs a command that creates a Display. Leaving the pager before the end of the text is success.
// Throws Error{io} if $PAGER can't be run.
ExitCode with_pager(const std::function<ExitCode()>& command);

}  // namespace recordpipe
