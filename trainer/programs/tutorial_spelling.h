// The ways to write flags that the tutorial's programs understood, as the ones that CLI11 does.
#pragma once

#include <string>
#include <vector>

#include <CLI/App.hpp>

namespace recordpipe {

// `arguments` with --train_dir as --train-dir; with a boolean alone, --run_once, as
// --run-once=true, and --norun_once as --run-once=false. Only names of `app`'s options are changed,
// only up to "--", and no values.
std::vector<std::string> with_our_spelling(const CLI::App& app, std::vector<std::string> arguments);

}  // namespace recordpipe
