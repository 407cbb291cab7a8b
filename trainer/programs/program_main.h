// What main() of every training program does.
#pragma once

#include <functional>

namespace recordpipe {

// Sets up standard descriptors, OpenMP, the log (on standard error) and signals (interrupted() of
// dataset/applications/process/interrupt.h tells of them), calls `run` with the command line, and
// returns the program's exit status: what `run` returns, UsageError's, or 1 after an exception,
// which is logged.
int program_main(const char* name, int argc, char** argv,
                 const std::function<int(int argc, char** argv)>& run);

}  // namespace recordpipe
