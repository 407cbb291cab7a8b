#include "tools/tfrecord/command_line/help_text.h"

#include <algorithm>

#include "tools/tfrecord/command_line/text_blocks.h"

namespace recordpipe {
namespace {

constexpr size_t kWidth = 80;
constexpr size_t kColumn = 30;  // where descriptions begin

// "  -o, --output FILE", long options aligned where there is no short one.
std::string left_side(const OptionText& option) {
  std::string names;
  for (const std::string& name : option.names) {
    names.append(names.empty() ? "" : ", ").append(name);
  }
  if (names.starts_with("--")) names.insert(0, "    ");
  if (option.names.front().front() != '-' && option.repeated) names += "...";
  if (!option.value.empty() && option.names.front().front() == '-') names += " " + option.value;
  return "  " + names;
}

// A description beside what it describes, or below if that is long.
std::string row(std::string left, const std::string& description) {
  std::string right = wrapped(description, kWidth, std::string(kColumn, ' '));
  if (right.empty()) return left + "\n";
  if (left.size() + 2 > kColumn) return left + "\n" + right;
  left.resize(kColumn, ' ');
  return left + right.substr(kColumn);
}

std::string rows(const std::string& title, const std::vector<OptionText>& options) {
  if (options.empty()) return "";
  std::string text = "\n" + title + ":\n";
  for (const OptionText& option : options) {
    std::string description = option.description;
    if (!option.default_value.empty()) description += " (default: " + option.default_value + ")";
    text += row(left_side(option), description);
  }
  return text;
}

}  // namespace

std::string help_text(const CommandText& command) {
  std::string text =
      "Usage: " + command.usage() + "\n\n" + wrapped(command.summary + ".", kWidth, "");
  if (!command.description.empty()) text += "\n" + wrapped(command.description, kWidth, "");
  text += rows("Arguments", command.arguments) + rows("Options", command.options);
  if (!command.answers_no.empty()) {
    text += "\n" + wrapped("Exit status: " + exit_statuses(command.answers_no), kWidth, "");
  }
  return text + "\nExamples:\n" + command.examples + "\n";
}

std::string help_text(const std::vector<CommandText>& commands) {
  std::string text = "Usage: tfrecord COMMAND [OPTIONS] [FILE...]\n\n" +
                     wrapped(program_description(), kWidth, "") + "\nCommands:\n";
  for (const CommandText& command : commands) {
    std::string left = "  " + command.name;
    left.resize(std::max<size_t>(left.size() + 2, 14), ' ');
    text += left + command.summary + "\n";
  }
  text += "\nOptions:\n" + row("  -h, --help", "Print this help") +
          row("      --version", "Print the version");
  return text + "\n" + wrapped("Exit status: " + exit_statuses(kAnswersNo), kWidth, "");
}

}  // namespace recordpipe
