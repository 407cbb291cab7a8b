// A command line that leaves nothing to run.
#pragma once

namespace recordpipe {

// Help was printed, or what is wrong with the flags: the program ends.
struct UsageError {
  int exit_code;  // 0 after --help, else 2
};

}  // namespace recordpipe
