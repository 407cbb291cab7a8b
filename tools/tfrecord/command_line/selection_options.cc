#include "tools/tfrecord/command_line/selection_options.h"

#include <CLI/App.hpp>

#include "tools/tfrecord/command_line/number_check.h"

namespace recordpipe {

void add_where(CLI::App& app, std::string& expression) {
  app.add_option("--where", expression,
                 "Select records by an expression: \"label == 3 and len(box) > 0\"")
      // A shell variable that isn't set would select everything.
      ->check(CLI::Validator(
          [](const std::string& text) { return text.empty() ? "an empty expression" : ""; }, ""))
      ->type_name("EXPR");
}

std::optional<Where> where_of(const std::string& expression) {
  if (expression.empty()) return std::nullopt;
  return Where(expression, "--where");
}

void add_limit(CLI::App& app, std::optional<uint64_t>& limit) {
  app.add_option("--limit", limit, "Use at most the first N selected records")
      ->check(whole_number())
      ->type_name("N");
}

void add_filter(CLI::App& app, FilterArguments& arguments) {
  add_where(app, arguments.where);
  add_limit(app, arguments.limit);
}

RecordFilter filter_of(const FilterArguments& arguments) {
  return RecordFilter(where_of(arguments.where), arguments.limit);
}

void add_features(CLI::App& app, std::vector<std::string>& names, const std::string& description) {
  app.add_option("--feature,--select", names, description + "; may be repeated")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,...");
}

}  // namespace recordpipe
