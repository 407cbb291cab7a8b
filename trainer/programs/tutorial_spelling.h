// Converts the tutorial's spellings of flags to those that ArgumentParser understands.
#pragma once

#include <string>
#include <vector>

#include "tools/support/command_line/argument_parser.h"

namespace recordpipe {

// `arguments` with --train_dir as --train-dir, a boolean alone, --run_once, as --run-once=true, and
// --norun_once as --run-once=false. Only names of `app`'s options before "--" are changed, never
// values.
std::vector<std::string> with_our_spelling(const ArgumentParser& app,
                                           std::vector<std::string> arguments);

}  // namespace recordpipe
