// Converts the tutorial's spellings of flags to those that CLI11 understands.
#pragma once

#include <string>
#include <vector>

#include <CLI/App.hpp>

namespace recordpipe {

// `arguments` with --train_dir as --train-dir, a boolean alone, --run_once, as --run-once=true, and
// --norun_once as --run-once=false. Only names of `app`'s options before "--" are changed, never
// values.
std::vector<std::string> with_our_spelling(const CLI::App& app, std::vector<std::string> arguments);

}  // namespace recordpipe
