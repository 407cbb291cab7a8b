// The option that says how records are compressed that are written.
#pragma once

#include <optional>
#include <string_view>

#include "recordpipe/compression.h"
#include "tools/tfrecord/command_line/cli_forward.h"

namespace recordpipe {

// Adds --compression; nothing, where it isn't given.
void add_compression(CLI::App& app, std::optional<Compression>& compression);

// `given`, or else what the ending of `path` says: .gz, .gzip, .zlib, .zst, .zstd; any other: none.
Compression compression_for(std::string_view path, std::optional<Compression> given);

}  // namespace recordpipe
