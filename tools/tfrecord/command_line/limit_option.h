// The option that says how many records are taken.
#pragma once

#include <cstdint>
#include <optional>

#include "tools/tfrecord/command_line/cli_forward.h"

namespace recordpipe {

// Adds --limit; nothing, if it isn't given: all.
void add_limit(CLI::App& app, std::optional<uint64_t>& limit);

}  // namespace recordpipe
