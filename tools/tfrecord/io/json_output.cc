#include "tools/tfrecord/io/json_output.h"

#include <nlohmann/json.hpp>

#include "recordpipe/base/internal/url_path.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/io/standard_streams.h"

namespace recordpipe {

std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string json_line(const nlohmann::ordered_json& json) { return json_text(json) + "\n"; }

std::string error_line(const std::string& path, const std::string& error) {
  return json_line({{"path", without_secrets(path)}, {"error", error}});
}

void add_json_summary(CommandApp& app, bool& json) {
  app.add_flag("--json", json, "Print a summary of the output as JSON on standard output");
}

void check_json_summary(bool json, const std::string& output) {
  if (!json || output != "-") return;
  throw UsageError("--json and the result can't both go to standard output: give -o a name");
}

void print_json_summary(const CommandContext& context, const nlohmann::ordered_json& json) {
  context.progress.clear();
  print(json_line(json));
}

}  // namespace recordpipe
