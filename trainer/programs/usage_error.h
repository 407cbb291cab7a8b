// Thrown if a command line leaves nothing to run.
#pragma once

namespace recordpipe {

// Help or a usage error was printed; the program must end.
struct UsageError {
  int exit_code;  // 0 after --help, else 2
};

}  // namespace recordpipe
