#include "tools/tfrecord/command_line/command_text.h"

#include <sstream>

#include <CLI/App.hpp>

#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/commands/commands.h"

namespace recordpipe {
namespace {

constexpr char kDescription[] = R"(Looks at, checks, repairs and converts TFRecord files.

FILE may be a path, a pattern ("train-*"), an http(s) URL or - for standard input, plain or compressed
with gzip, zlib or zstd. The compression is detected automatically. "tfrecord COMMAND --help"
describes a command and gives examples.

Results go to standard output; summaries, notes and errors to standard error. --json prints JSON
objects on standard output, one a line: commands that answer for each file print one for each, in
their order. --where and --limit select records: a feature that is named, but that no record has, is
an error.)";

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

OptionText option_text(const CLI::Option& option) {
  OptionText text{.description = option.get_description(),
                  .default_value = option.get_default_str(),
                  .required = option.get_required(),
                  .repeated = option.get_expected_max() > 1};
  if (option.get_positional()) {
    text.names.push_back(option.get_name(/*positional=*/true));
  } else {
    for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  }
  const bool is_flag = option.get_items_expected_max() == 0;
  if (!is_flag) text.value = option.get_type_name();
  if (text.value.find('|') != text.value.npos) text.choices = split(text.value, '|');
  if (text.default_value == "[]" || text.default_value == "{}") text.default_value.clear();
  return text;
}

}  // namespace

bool OptionText::is_file() const {
  return choices.empty() && (value.find("FILE") != value.npos || names.front() == "FILE");
}

bool OptionText::is_folder() const {
  const std::string& what = names.front().front() == '-' ? value : names.front();
  return choices.empty() && (what == "FOLDER" || what == "DIR");
}

std::string CommandText::usage() const {
  std::string line = "tfrecord " + name + " [OPTIONS]";
  for (const OptionText& argument : arguments) {
    const std::string text = argument.names.front() + (argument.repeated ? "..." : "");
    line += argument.required ? " " + text : " [" + text + "]";
  }
  return line;
}

CommandText command_text(const Command& command, const CLI::App& app) {
  CommandText text{.name = command.name,
                   .summary = command.summary,
                   .description = command.description,
                   .examples = command.examples,
                   .answers_no = command.answers_no};
  while (text.examples.ends_with('\n')) text.examples.pop_back();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty() || option == app.get_help_ptr()) continue;
    (option->get_positional() ? text.arguments : text.options).push_back(option_text(*option));
  }
  // Last: what is the command's own is asked for more often.
  text.options.push_back({.names = {"-h", "--help"}, .description = "Print this help"});
  return text;
}

std::vector<CommandText> all_command_texts() {
  std::vector<CommandText> texts;
  for (const Command& command : all_commands()) {
    CommandApp app;
    const CommandAction owner = command.define(app);
    texts.push_back(command_text(command, app));
  }
  return texts;
}

std::string program_description() { return kDescription; }

}  // namespace recordpipe
