// The common main() of the training programs.
#pragma once

#include <functional>

namespace recordpipe {

// Sets up standard descriptors, OpenMP, the log (on standard error) and signals (reported by
// interrupted() of tools/support/process/interrupt.h). Then calls `run` with the command
// line. Returns the program's exit status: that of `run`, that of a UsageError, or 1 after an
// exception, which is logged.
int program_main(const char* name, int argc, char** argv,
                 const std::function<int(int argc, char** argv)>& run);

}  // namespace recordpipe
