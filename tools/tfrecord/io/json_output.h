// --json: the option, objects as lines of text, and the summary of the written files.
#pragma once

#include <string>

// Only declared: including nlohmann/json.hpp takes a second to compile.
#include <nlohmann/json_fwd.hpp>

#include "tools/tfrecord/command_line/command.h"

namespace recordpipe {

// Returns `json` on one line, without a newline. Bytes that are not valid UTF-8 (file names may
// contain any bytes) become U+FFFD.
std::string json_text(const nlohmann::ordered_json& json);
// Returns json_text() and a newline.
std::string json_line(const nlohmann::ordered_json& json);

// Returns the line for an unreadable file, in commands that print one object per file.
std::string error_line(const std::string& path, const std::string& error);

// Adds --json, which prints the summary as JSON.
void add_json_summary(CommandApp& app, bool& json);

// Throws UsageError if both the result and the summary would go to standard output.
void check_json_summary(bool json, const std::string& output);

// Prints the summary as a line of JSON on standard output.
void print_json_summary(const CommandContext& context, const nlohmann::ordered_json& json);

}  // namespace recordpipe
