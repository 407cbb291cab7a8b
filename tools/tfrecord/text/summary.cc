#include "tools/tfrecord/text/summary.h"

#include <CLI/CLI.hpp>

#include "tools/tfrecord/io/standard_streams.h"
#include "tools/tfrecord/text/json_line.h"

namespace recordpipe {

void add_json_summary(CLI::App& app, bool& json) {
  app.add_flag("--json", json, "Print what was written as JSON on standard output");
}

void check_json_summary(bool json, const std::string& output) {
  if (!json || output != "-") return;
  throw UsageError("--json and the result can't both go to standard output: give -o a name");
}

void print_summary(const CommandContext& context, const std::string& text) {
  context.progress.warn(text);
}

void print_summary(const CommandContext& context, const nlohmann::ordered_json& json) {
  context.progress.clear();
  print(json_line(json));
}

}  // namespace recordpipe
