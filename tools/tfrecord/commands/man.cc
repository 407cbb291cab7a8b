// tfrecord man: prints the man pages of tfrecord.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "recordpipe/base/error.h"
#include "recordpipe/base/version.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/command_line/command_text.h"
#include "tools/tfrecord/commands/commands.h"
#include "tools/tfrecord/io/output.h"

namespace recordpipe {
namespace {

// Escapes `text` (one or more lines), so that roff prints it literally.
std::string escaped(const std::string& text) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    line_begins = c == '\n';
    switch (c) {
      case '\\':
        out += "\\e";
        break;
      case '-':
        out += "\\-";  // otherwise a hyphen, which can't be copied into a shell
        break;
      default:
        out += c;
    }
  }
  return out;
}

// Turns off hyphenation (.nh) and justification (.ad l): otherwise, names could not be copied into
// a shell.
std::string heading(const std::string& title) {
  std::string upper = title;
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return ".TH " + escaped(upper) +
         " 1 \"\" \"recordpipe " RECORDPIPE_VERSION "\" \"User Commands\"\n.nh\n.ad l\n";
}

// Formats refilled paragraphs, tables with an aligned second column, and literal lines.
std::string paragraphs(const std::string& text) {
  std::string out;
  auto last = TextBlock::Kind::paragraph;
  for (const TextBlock& block : text_blocks(text)) {
    using Kind = TextBlock::Kind;
    if ((block.kind == Kind::verbatim) != (last == Kind::verbatim)) {
      out += last == Kind::verbatim ? ".fi\n" : ".nf\n";
    }
    if (block.kind == Kind::gap) {
      out += ".PP\n";
    } else if (block.kind == Kind::row) {
      out += ".TP " + std::to_string(block.column) + "\n" + escaped(block.word) + "\n" +
             escaped(block.text) + "\n";
    } else {
      if (last == Kind::row) out += ".PP\n";
      out += escaped(block.text) + "\n";
    }
    last = block.kind;
  }
  return out + (last == TextBlock::Kind::verbatim ? ".fi\n" : "");
}

std::string item(const OptionFacts& option) {
  std::string names;
  for (const std::string& name : option.names) {
    names.append(names.empty() ? "" : ", ").append("\\fB" + escaped(name) + "\\fR");
  }
  const bool is_argument = option.names.front().front() != '-';
  if (is_argument && option.repeated) names += "...";
  if (!is_argument && !option.type_name.empty())
    names += " \\fI" + escaped(option.type_name) + "\\fR";
  std::string text = ".TP\n" + names + "\n" + escaped(option.description);
  if (!option.default_text.empty()) text += " (default: " + escaped(option.default_text) + ")";
  return text + ".\n";
}

std::string verbatim(const std::string& text) { return ".nf\n" + escaped(text) + "\n.fi\n"; }

// The man page tfrecord-NAME(1).
std::string man_page(const CommandText& command) {
  std::string summary = command.summary;
  summary[0] = static_cast<char>(summary[0] | 0x20);  // lower case, as in whatis
  std::string page = heading("tfrecord-" + command.name) + ".SH NAME\n" +
                     escaped("tfrecord-" + command.name) + " \\- " + escaped(summary) +
                     "\n.SH SYNOPSIS\n" + escaped(command.usage()) + "\n.SH DESCRIPTION\n" +
                     escaped(command.summary) + ".\n";
  if (!command.description.empty()) page += ".PP\n" + paragraphs(command.description);
  if (!command.arguments.empty()) page += ".SH ARGUMENTS\n";
  for (const OptionFacts& argument : command.arguments) page += item(argument);
  page += ".SH OPTIONS\n";
  for (const OptionFacts& option : command.options) page += item(option);
  return page + ".SH EXAMPLES\n" + verbatim(command.examples) + ".SH EXIT STATUS\n" +
         escaped(exit_statuses(command.answers_no)) + "\n.SH SEE ALSO\n.BR tfrecord (1)\n";
}

// The man page tfrecord(1).
std::string man_page(const std::vector<CommandText>& commands) {
  std::string page =
      heading("tfrecord") +
      ".SH NAME\ntfrecord \\- looks at, checks, repairs and converts TFRecord files\n"
      ".SH SYNOPSIS\n.B tfrecord\n.I COMMAND\n[OPTIONS] [FILE...]\n"
      ".SH DESCRIPTION\n" +
      paragraphs(program_description()) + ".SH COMMANDS\n";
  for (const CommandText& command : commands) {
    page += ".TP\n.BR " + escaped("tfrecord-" + command.name) + " (1)\n" +
            escaped(command.summary) + ".\n";
  }
  return page + ".SH EXIT STATUS\n" + escaped(exit_statuses(kAnswersNo)) + "\n";
}

struct ManArguments {
  std::string command = {};
  std::string folder = {};
  std::string output = {};
};

void write_page(const CommandContext& context, const std::string& path, const std::string& page) {
  Output out(context, path);
  out.write(page);
  out.close();
}

void write_all(const CommandContext& context, const std::string& folder,
               const std::vector<CommandText>& commands) {
  context.files.make_directories(folder);
  write_page(context, folder + "/tfrecord.1", man_page(commands));
  for (const CommandText& command : commands) {
    write_page(context, folder + "/tfrecord-" + command.name + ".1", man_page(command));
  }
}

ExitCode print_manual(const ManArguments& arguments, const CommandContext& context) {
  const std::vector<CommandText> commands = all_command_texts();
  if (!arguments.folder.empty()) {
    if (!arguments.command.empty()) throw UsageError("--all is for all commands, not for one");
    write_all(context, arguments.folder, commands);
    return ExitCode::ok;
  }
  const auto found = std::ranges::find(commands, arguments.command, &CommandText::name);
  if (found == commands.end() && !arguments.command.empty()) {
    throw UsageError("unknown command '" + printable(shown_word(arguments.command)) + "'");
  }
  write_page(context, arguments.output,
             found == commands.end() ? man_page(commands) : man_page(*found));
  return ExitCode::ok;
}

}  // namespace

Command man_command() {
  return {
      .name = "man",
      .summary = "Prints a man page, in roff",
      .description = "The page of the program, or of one command. It has the same text as --help.",
      .examples = R"(  tfrecord man index | man -l -
  tfrecord man --all ~/.local/share/man/man1
)",
      .define = [](CommandApp& app) -> CommandAction {
        const auto arguments = std::make_shared<ManArguments>();
        std::string names;
        for (const Command& command : all_commands()) {
          names.append(names.empty() ? "" : "|").append(command.name);
        }
        app.add_option("COMMAND", arguments->command, "Command to describe (default: the program)")
            .type_name(names);
        app.add_option("--all", arguments->folder, "Write all pages into a folder instead")
            .type_name("FOLDER");
        add_output(app, arguments->output, [] { return "text"; });
        return [arguments](const CommandContext& context) {
          return print_manual(*arguments, context);
        };
      }};
}

}  // namespace recordpipe
