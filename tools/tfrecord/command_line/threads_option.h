// The option that says how many threads work.
#pragma once

#include <cstddef>

#include "tools/tfrecord/command_line/cli_forward.h"

namespace recordpipe {

// Adds --threads; 0, the default, stands for available_cpus()
// (dataset/base/thread_count.h).
void add_threads(CLI::App& app, size_t& threads);

}  // namespace recordpipe
