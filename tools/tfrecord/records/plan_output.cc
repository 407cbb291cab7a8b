#include "tools/tfrecord/records/plan_output.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"
#include "tools/tfrecord/io/json_output.h"
#include "tools/tfrecord/io/standard_streams.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {
namespace {

// "4 files, out-00000-of-00004 to out-00003-of-00004"
std::string describe_paths(const std::vector<std::string>& paths) {
  if (paths.empty()) return "no file";
  if (paths.size() == 1) return printable(paths.front());
  return fmt::format("{}, {} to {}", counted(paths.size(), "file"), printable(paths.front()),
                     printable(paths.back()));
}

}  // namespace

ExitCode print_plan(const CommandContext& context, const ConvertPlan& plan, bool json) {
  if (json) {
    nlohmann::ordered_json again = nlohmann::ordered_json::array();
    for (const std::string& path : plan.read_twice) again.push_back(without_secrets(path));
    const auto number = [](const std::optional<uint64_t>& known) {
      return known ? nlohmann::ordered_json(*known) : nlohmann::ordered_json();
    };
    print_json_summary(context, {{"inputs", plan.inputs},
                                 {"bytes", number(plan.bytes)},
                                 {"records", number(plan.records)},
                                 {"read_twice", again},
                                 {"outputs", plan.outputs}});
    return ExitCode::ok;
  }
  print_line(fmt::format(
      "would read {}, {}, {}", counted(plan.inputs, "file"),
      plan.bytes ? byte_count(*plan.bytes) : "of unknown size",
      plan.records ? counted(*plan.records, "record") : "an unknown number of records"));
  if (!plan.read_twice.empty()) {
    print_line(fmt::format(
        "{} of them twice, {}: {}{}", grouped(plan.read_twice.size()),
        plan.once_if_few ? "unless few records are selected" : "first to count records",
        shown_path(plan.read_twice.front()), plan.read_twice.size() > 1 ? ", ..." : ""));
  }
  print_line("would write " + describe_paths(plan.outputs));
  return ExitCode::ok;
}

}  // namespace recordpipe
