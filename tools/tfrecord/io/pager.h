// Shows standard output in a pager while it is written.
#pragma once

#include <optional>
#include <string>

#include <sys/types.h>

#include "tools/support/process/interrupt.h"

namespace recordpipe {

// The command line of the pager: $PAGER, or less if that is not set and less is installed. Empty
// for no pager: $PAGER is empty or "cat".
std::string pager_command();

// From the constructor to the destructor, standard output is a pipe to the pager. Ctrl-C stops the
// program's work, but the program waits until the user leaves the pager, as git does.
class Pager {
 public:
  // Runs the command in a shell, with LESS=FRX unless that is set: less ends by itself if the text
  // fits on the screen, passes colors on, and leaves the text there. Throws Error{io}.
  explicit Pager(const std::string& command);
  // Ends the pager's input, and waits until it has ended.
  ~Pager();
  Pager(const Pager&) = delete;
  Pager& operator=(const Pager&) = delete;

  // Whether any pager was started: then a closed pipe means that the user has left it.
  static bool was_started();
  // Whether the shell couldn't run the pager, so that the text is lost.
  static bool was_not_found();

 private:
  const Interrupt::Hold hold_;
  int standard_output_ = -1;
  pid_t process_ = -1;
};

}  // namespace recordpipe
