// What a command says of a result that it wrote to -o: a line on standard error or, with --json, an
// object on standard output.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "tools/tfrecord/command_line/cli_forward.h"
#include "tools/tfrecord/command_line/command.h"

namespace recordpipe {

// Adds --json for such a summary.
void add_json_summary(CLI::App& app, bool& json);

// Throws UsageError if both the result and the summary would go to standard output.
void check_json_summary(bool json, const std::string& output);

void print_summary(const CommandContext& context, const std::string& text);
void print_summary(const CommandContext& context, const nlohmann::ordered_json& json);

}  // namespace recordpipe
