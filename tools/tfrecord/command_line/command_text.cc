#include "tools/tfrecord/command_line/command_text.h"

#include <algorithm>
#include <sstream>

#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/commands/commands.h"

namespace recordpipe {
namespace {

constexpr char kProgramDescription[] = R"(Looks at, checks, repairs and converts TFRecord files.

FILE may be a path, a folder, a pattern, an http(s) URL, an object (s3://BUCKET/KEY, gs://BUCKET/KEY)
or - for standard input, plain or compressed with gzip, zlib, zstd, bzip2, xz, lz4 or Snappy (framed).
The compression is detected automatically, also of what is compressed twice. "tfrecord COMMAND --help" describes a command and gives examples.

A folder stands for its files whose names contain "tfrec" and for shards ("train-00000-of-00064"),
sorted, without indexes and names that begin with . or _; --recursive adds those of the folders below
it. Quote patterns, so that they are not limited by the length of the command line: "train-*",
"data/**/*.tfrecord" (** stands for any number of folders, also none), "train-{000..127}.tfrecord",
"{train,val}-*", and "train@64" for the shards train-00000-of-00064 to train-00063-of-00064. Each file
of braces and of @64 must exist. A file that exists is never a pattern. --files-from reads paths from
a file; they are not patterns.

Objects are read and written with the settings and credentials of the AWS and Google tools: AWS_PROFILE,
AWS_ENDPOINT_URL, AWS_REGION, GOOGLE_APPLICATION_CREDENTIALS and others. AWS_NO_SIGN_REQUEST=true
reads public buckets. An object that is written appears whole or not at all.

Results go to standard output; summaries, notes and errors to standard error. --json prints JSON
objects on standard output, one a line: commands that answer for each file print one for each, in
their order. --where and --limit select records: a feature that is named, but that no record has, is
an error, or a note where not all records were read. Selecting nothing is no failure (exit status 0),
except for grep, whose answer it is.)";

const std::string kFirstExamples = R"(Examples:
  tfrecord info 'train-*'                     # how many records, of what kind
  tfrecord head -3 train.tfrecord             # the first ones
  tfrecord verify 'train-*'                   # whether they are intact
  tfrecord view train.tfrecord -o page.html   # their images
  tfrecord create photos/ -o train.tfrecord   # from a folder of images
  tfrecord convert 'in/*' -o out/train --shards 64 --shuffle
)";

}  // namespace

std::string CommandText::usage() const {
  std::string line = "tfrecord " + name + " [OPTIONS]";
  for (const OptionFacts& argument : arguments) {
    const std::string text = argument.names.front() + (argument.repeated ? "..." : "");
    line += argument.required ? " " + text : " [" + text + "]";
  }
  return line;
}

CommandText command_text(const Command& command, const ArgumentParser& app) {
  CommandText text{command};
  while (text.examples.ends_with('\n')) text.examples.pop_back();
  for (const Option& option : app.options()) {
    OptionFacts facts = option.facts();
    (facts.is_argument ? text.arguments : text.options).push_back(std::move(facts));
  }
  // Last, because the command's own options are needed more often.
  text.options.push_back({.names = {"-h"}, .description = "Print a short help"});
  text.options.push_back({.names = {"--help"}, .description = "Print this help"});
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

std::string program_description() { return kProgramDescription; }

namespace {

// `words` after `begin`, which has the width of `indent`; all further lines after `indent`.
std::string filled(const std::string& words, size_t width, const std::string& begin,
                   const std::string& indent) {
  std::string out;
  std::string line = begin;
  bool is_empty = true;
  std::istringstream stream(words);
  for (std::string word; stream >> word;) {
    if (!is_empty && line.size() + 1 + word.size() > width) {
      out.append(line).append("\n");
      line = indent;
      is_empty = true;
    }
    if (!is_empty) line += ' ';
    line += word;
    is_empty = false;
  }
  return is_empty ? out : out + line + "\n";
}

}  // namespace

std::vector<TextBlock> text_blocks(const std::string& text) {
  std::vector<TextBlock> blocks;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    using Kind = TextBlock::Kind;
    const Kind last = blocks.empty() ? Kind::gap : blocks.back().kind;
    const size_t begin = line.find_first_not_of(' ');
    const size_t word_end = line.find("  ");
    if (begin == line.npos) {
      blocks.push_back({.kind = Kind::gap});
    } else if (begin > 0 && last == Kind::row && begin == blocks.back().column) {
      blocks.back().text.append(" ").append(line, begin);
    } else if (begin > 0) {
      blocks.push_back({.kind = Kind::verbatim, .text = line});
    } else if (word_end != line.npos) {
      const size_t column = line.find_first_not_of(' ', word_end);
      blocks.push_back({.kind = Kind::row,
                        .word = line.substr(0, word_end),
                        .text = line.substr(column),
                        .column = column});
    } else if (last == Kind::paragraph) {
      blocks.back().text.append(" ").append(line);
    } else {
      blocks.push_back({.kind = Kind::paragraph, .text = line});
    }
  }
  return blocks;
}

std::string wrapped(const std::string& text, size_t width, const std::string& indent) {
  std::string out;
  for (const TextBlock& block : text_blocks(text)) {
    switch (block.kind) {
      case TextBlock::Kind::paragraph:
        out += filled(block.text, width, indent, indent);
        break;
      case TextBlock::Kind::row: {
        const std::string below = indent + std::string(block.column, ' ');
        std::string begin = indent + block.word;
        begin.resize(below.size(), ' ');
        out += filled(block.text, width, begin, below);
        break;
      }
      case TextBlock::Kind::verbatim:
        out += indent + block.text + "\n";
        break;
      case TextBlock::Kind::gap:
        out += "\n";
        break;
    }
  }
  return out;
}

namespace {

constexpr size_t kWidth = 80;
constexpr size_t kColumn = 30;  // column of descriptions

// "  -o, --output FILE"; long options are aligned if there is no short one.
std::string left_side(const OptionFacts& option) {
  std::string names;
  for (const std::string& name : option.names) {
    names.append(names.empty() ? "" : ", ").append(name);
  }
  if (names.starts_with("--")) names.insert(0, "    ");
  if (option.names.front().front() != '-' && option.repeated) names += "...";
  if (!option.type_name.empty() && option.names.front().front() == '-')
    names += " " + option.type_name;
  return "  " + names;
}

// A description beside its option, or below if the option is long.
std::string row(std::string left, const std::string& description) {
  std::string right = wrapped(description, kWidth, std::string(kColumn, ' '));
  if (right.empty()) return left + "\n";
  if (left.size() + 2 > kColumn) return left + "\n" + right;
  left.resize(kColumn, ' ');
  return left + right.substr(kColumn);
}

std::string rows(const std::string& title, const std::vector<OptionFacts>& options) {
  if (options.empty()) return "";
  std::string text = "\n" + title + ":\n";
  for (const OptionFacts& option : options) {
    std::string description = option.description;
    if (!option.default_text.empty()) description += " (default: " + option.default_text + ")";
    text += row(left_side(option), description);
  }
  return text;
}

// The first sentence of the description.
std::string brief_row(const OptionFacts& option) {
  std::string text = option.description.substr(0, option.description.find('\n'));
  size_t depth = 0;  // in parentheses
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')') --depth;
    const bool ends = text[i] == ';' || (text[i] == '.' && (i == 0 || text[i - 1] != '.'));
    if (ends && depth == 0 && text[i + 1] == ' ') text.resize(i);
  }
  return row(left_side(option), text);
}

std::string brief_text(const CommandText& command) {
  std::string text = "Usage: " + command.usage() + "\n\n" +
                     wrapped(command.summary + ".", kWidth, "") + "\nExamples:\n" +
                     command.examples + "\n\nOptions:\n";
  for (const OptionFacts& option : command.options) text += brief_row(option);
  return text + "\n\"tfrecord " + command.name + " --help\" describes them, and what is done.\n";
}

}  // namespace

std::string help_text(const CommandText& command, HelpLength length) {
  if (length == HelpLength::brief) return brief_text(command);
  std::string text =
      "Usage: " + command.usage() + "\n\n" + wrapped(command.summary + ".", kWidth, "");
  if (!command.description.empty()) text += "\n" + wrapped(command.description, kWidth, "");
  text += rows("Arguments", command.arguments) + rows("Options", command.options);
  if (!command.answers_no.empty()) {
    text += "\n" + wrapped("Exit status: " + exit_statuses(command.answers_no), kWidth, "");
  }
  return text + "\nExamples:\n" + command.examples + "\n";
}

std::string help_text(const std::vector<CommandText>& commands, HelpLength length) {
  const bool is_brief = length == HelpLength::brief;
  std::string text = "Usage: tfrecord COMMAND [OPTIONS] [FILE...]\n\n" +
                     (is_brief ? kFirstExamples : wrapped(program_description(), kWidth, "")) +
                     "\nCommands:\n";
  for (const CommandText& command : commands) {
    std::string left = "  " + command.name;
    left.resize(std::max<size_t>(left.size() + 2, 14), ' ');
    text += left + command.summary + "\n";
  }
  if (is_brief) {
    return text + "\n\"tfrecord COMMAND -h\" gives examples, \"tfrecord --help\" says more.\n";
  }
  text += "\nOptions:\n" + row("  -h", "Print a short help") +
          row("      --help", "Print this help") + row("      --version", "Print the version");
  return text + "\n" + wrapped("Exit status: " + exit_statuses(kAnswersNo), kWidth, "");
}

std::vector<Command> all_commands() {
  return {
      info_command(),    verify_command(), show_command(),       head_command(),
      tail_command(),    grep_command(),   count_command(),      schema_command(),
      stats_command(),   index_command(),  convert_command(),    cat_command(),
      salvage_command(), diff_command(),   create_command(),     export_command(),
      view_command(),    bench_command(),  completion_command(), man_command(),
  };
}

}  // namespace recordpipe
